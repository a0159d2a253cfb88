// The interop provider: protocol 6 on the official framework, its objects kept in one JSON file that the provider's
// configuration names. Every kind of attribute and nesting that the tests look at is here, and one way to fail of each sort.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const address = "flightdeck.internal/test/interop"

type interop struct{}

type interopModel struct {
	File types.String `tfsdk:"file"`
}

func (p *interop) Metadata(_ context.Context, _ provider.MetadataRequest, response *provider.MetadataResponse) {
	response.TypeName = "interop"
	response.Version = "0.1.0"
}

func (p *interop) Schema(_ context.Context, _ provider.SchemaRequest, response *provider.SchemaResponse) {
	response.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"file": schema.StringAttribute{Optional: true, Description: "Where the objects are kept; types without a world need none."},
		},
	}
}

func (p *interop) Configure(ctx context.Context, request provider.ConfigureRequest, response *provider.ConfigureResponse) {
	var config interopModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}
	kept := &store{path: config.File.ValueString()}
	response.ResourceData = kept
	response.DataSourceData = kept
}

func (p *interop) Resources(context.Context) []func() resource.Resource {
	all := []func() resource.Resource{newRecord, newAnything, newPet, newNothing}
	if bigSchema() {
		all = append(all, newBig)
	}
	return all
}

func (p *interop) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{newLookup}
}

func main() {
	serve := func() provider.Provider { return &interop{} }
	if err := providerserver.Serve(context.Background(), serve, providerserver.ServeOpts{Address: address}); err != nil {
		log.Fatal(err)
	}
}
