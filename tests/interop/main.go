// The interop provider: protocol 6 on the official framework. Its objects are in one JSON file that the provider's
// configuration names. It has every kind of attribute and nesting that the tests use, and each kind of failure.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"flightdeck.internal/interop/store"
)

const address = "flightdeck.internal/test/interop"

type interop struct {
	// Name of the function that the configuration adds.
	offers string
}

type interopModel struct {
	File types.String `tfsdk:"file"`
	Note types.String `tfsdk:"note"`
}

func (p *interop) Metadata(_ context.Context, _ provider.MetadataRequest, response *provider.MetadataResponse) {
	response.TypeName = "interop"
	response.Version = "0.1.0"
}

func (p *interop) Schema(_ context.Context, _ provider.SchemaRequest, response *provider.SchemaResponse) {
	response.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"file": schema.StringAttribute{Optional: true, Description: "Where the objects are kept; types without a world need none."},
			"note": schema.StringAttribute{Optional: true, Description: "What the data source interop_provider gives back; it may be unknown."},
		},
	}
}

func (p *interop) Configure(ctx context.Context, request provider.ConfigureRequest, response *provider.ConfigureResponse) {
	var config interopModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}
	p.offers = config.Note.ValueString()
	all := &provided{store: store.At(config.File.ValueString()), note: config.Note}
	response.ResourceData = all
	response.DataSourceData = all
	response.EphemeralResourceData = all
}

func (p *interop) Resources(context.Context) []func() resource.Resource {
	all := []func() resource.Resource{newRecord, newAnything, newPet, newNothing, newNest, newVault, newDisk, newHeir, newBrittle}
	if bigSchema() {
		all = append(all, newBig)
	}
	return all
}

func (p *interop) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{newLookup, newSelf}
}

func (p *interop) Functions(context.Context) []func() function.Function {
	return []func() function.Function{newJoined, newHalf, newSort}
}

func (p *interop) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{newLease}
}

func main() {
	serve := func() tfprotov6.ProviderServer {
		provider := &interop{}
		return offering{ProviderServer: providerserver.NewProtocol6(provider)(), provider: provider}
	}
	if err := tf6server.Serve(address, serve); err != nil {
		log.Fatal(err)
	}
}
