package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"flightdeck.internal/interop/store"
)

// lookup reads a record by its id.
type lookup struct{ store *store.Store }

type lookupModel struct {
	ID       types.String `tfsdk:"id"`
	Text     types.String `tfsdk:"text"`
	Revision types.Int64  `tfsdk:"revision"`
}

func newLookup() datasource.DataSource { return &lookup{} }

func (d *lookup) Metadata(_ context.Context, request datasource.MetadataRequest, response *datasource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_record"
}

func (d *lookup) Schema(_ context.Context, _ datasource.SchemaRequest, response *datasource.SchemaResponse) {
	response.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"id":       schema.StringAttribute{Required: true},
			"text":     schema.StringAttribute{Computed: true},
			"revision": schema.Int64Attribute{Computed: true},
		},
	}
}

func (d *lookup) Configure(_ context.Context, request datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	if all, ok := request.ProviderData.(*provided); ok {
		d.store = all.store
	}
}

func (d *lookup) Read(ctx context.Context, request datasource.ReadRequest, response *datasource.ReadResponse) {
	var config lookupModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}
	object, there, err := d.store.Get(config.ID.ValueString())
	switch {
	case err != nil:
		response.Diagnostics.AddError("Record not read", err.Error())
	case !there:
		response.Diagnostics.AddAttributeError(path.Root("id"), "No such record", "The file holds no record "+config.ID.ValueString()+".")
	default:
		config.Text = types.StringValue(object.Text)
		config.Revision = types.Int64Value(object.Revision)
		response.Diagnostics.Append(response.State.Set(ctx, &config)...)
	}
}

// self returns the provider's configuration.
type self struct{ note types.String }

type selfModel struct {
	Note types.String `tfsdk:"note"`
}

func newSelf() datasource.DataSource { return &self{} }

func (d *self) Metadata(_ context.Context, request datasource.MetadataRequest, response *datasource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_provider"
}

func (d *self) Schema(_ context.Context, _ datasource.SchemaRequest, response *datasource.SchemaResponse) {
	response.Schema = schema.Schema{Attributes: map[string]schema.Attribute{"note": schema.StringAttribute{Computed: true}}}
}

func (d *self) Configure(_ context.Context, request datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	if all, ok := request.ProviderData.(*provided); ok {
		d.note = all.note
	}
}

func (d *self) Read(ctx context.Context, _ datasource.ReadRequest, response *datasource.ReadResponse) {
	said := d.note
	if said.IsUnknown() {
		said = types.StringValue("(not known yet)")
	}
	response.Diagnostics.Append(response.State.Set(ctx, &selfModel{Note: said})...)
}
