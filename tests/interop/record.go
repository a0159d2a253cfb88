package main

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"flightdeck.internal/interop/store"
)

// record is a resource with every kind of attribute.
type record struct{ world }

type recordModel struct {
	ID       types.String  `tfsdk:"id"`
	Name     types.String  `tfsdk:"name"`
	Text     types.String  `tfsdk:"text"`
	Amount   types.Int64   `tfsdk:"amount"`
	Ratio    types.Number  `tfsdk:"ratio"`
	Enabled  types.Bool    `tfsdk:"enabled"`
	Lines    types.List    `tfsdk:"lines"`
	Ports    types.Set     `tfsdk:"ports"`
	Labels   types.Map     `tfsdk:"labels"`
	Secret   types.String  `tfsdk:"secret"`
	Settings types.Object  `tfsdk:"settings"`
	Rules    types.List    `tfsdk:"rules"`
	Revision types.Int64   `tfsdk:"revision"`
	Endpoint []endpointRow `tfsdk:"endpoint"`
}

type endpointRow struct {
	Host types.String `tfsdk:"host"`
	Port types.Int64  `tfsdk:"port"`
}

func newRecord() resource.Resource { return &record{} }

func (r *record) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_record"
}

func (r *record) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{
		Description: "A record in the file.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:      true,
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"name": schema.StringAttribute{
				Required:      true,
				Description:   "Another name is another record.",
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			},
			"text":    schema.StringAttribute{Optional: true},
			"amount":  schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(1)},
			"ratio":   schema.NumberAttribute{Optional: true},
			"enabled": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(true)},
			"lines":   schema.ListAttribute{ElementType: types.StringType, Optional: true},
			"ports":   schema.SetAttribute{ElementType: types.Int64Type, Optional: true},
			"labels":  schema.MapAttribute{ElementType: types.StringType, Optional: true},
			"secret":  schema.StringAttribute{Optional: true, Sensitive: true},
			"settings": schema.SingleNestedAttribute{
				Optional: true,
				Attributes: map[string]schema.Attribute{
					"mode":    schema.StringAttribute{Required: true},
					"retries": schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(3)},
				},
			},
			"rules": schema.ListNestedAttribute{
				Optional: true,
				NestedObject: schema.NestedAttributeObject{
					Attributes: map[string]schema.Attribute{
						"match": schema.StringAttribute{Required: true},
						"allow": schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false)},
					},
				},
			},
			"revision": schema.Int64Attribute{Computed: true, Description: "How often it was written."},
		},
		Blocks: map[string]schema.Block{
			"endpoint": schema.ListNestedBlock{
				NestedObject: schema.NestedBlockObject{
					Attributes: map[string]schema.Attribute{
						"host": schema.StringAttribute{Required: true},
						"port": schema.Int64Attribute{Optional: true},
					},
				},
			},
		},
	}
}

func (r *record) ModifyPlan(_ context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	if request.Plan.Raw.IsNull() || request.State.Raw.IsNull() || request.Plan.Raw.Equal(request.State.Raw) {
		return
	}
	response.Diagnostics.Append(response.Plan.SetAttribute(context.Background(), path.Root("revision"), types.Int64Unknown())...)
}

// ValidateConfig refuses the mode "never", at its path.
func (r *record) ValidateConfig(ctx context.Context, request resource.ValidateConfigRequest, response *resource.ValidateConfigResponse) {
	place := path.Root("settings").AtName("mode")
	var settings types.Object
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("settings"), &settings)...)
	if settings.IsNull() || settings.IsUnknown() {
		return
	}
	if mode, ok := settings.Attributes()["mode"].(types.String); ok && mode.ValueString() == "never" {
		response.Diagnostics.AddAttributeError(place, "Unsupported mode", "The mode \"never\" is never supported.")
	}
}

// write stores the planned record; the text "refuse" is an error with a path, and the text "panic" ends the process.
func (r *record) write(plan *recordModel, revision int64) (path.Path, error) {
	switch plan.Text.ValueString() {
	case "refuse":
		return path.Root("text"), fmt.Errorf("the text %q is refused on purpose", plan.Text.ValueString())
	case "panic":
		panic("the record asked for it")
	}
	plan.ID = types.StringValue("record-" + plan.Name.ValueString())
	plan.Revision = types.Int64Value(revision)
	return path.Root("id"), r.store.Change(func(objects map[string]store.Kept) {
		objects[plan.ID.ValueString()] = store.Kept{Revision: revision, Text: plan.Text.ValueString()}
	})
}

func (r *record) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var plan recordModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	if response.Diagnostics.HasError() {
		return
	}
	if place, err := r.write(&plan, 1); err != nil {
		response.Diagnostics.AddAttributeError(place, "Record not written", err.Error())
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

func (r *record) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var state recordModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	if response.Diagnostics.HasError() {
		return
	}
	object, there, err := r.store.Get(state.ID.ValueString())
	if err != nil {
		response.Diagnostics.AddError("Record not read", err.Error())
		return
	}
	if !there {
		response.State.RemoveResource(ctx)
		return
	}
	if object.Text != state.Text.ValueString() {
		state.Text = types.StringValue(object.Text)
	}
	state.Revision = types.Int64Value(object.Revision)
	response.Diagnostics.Append(response.State.Set(ctx, &state)...)
}

func (r *record) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var plan, state recordModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	if response.Diagnostics.HasError() {
		return
	}
	if place, err := r.write(&plan, state.Revision.ValueInt64()+1); err != nil {
		response.Diagnostics.AddAttributeError(place, "Record not written", err.Error())
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

func (r *record) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var state recordModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	if response.Diagnostics.HasError() {
		return
	}
	if err := r.store.Change(func(objects map[string]store.Kept) { delete(objects, state.ID.ValueString()) }); err != nil {
		response.Diagnostics.AddError("Record not deleted", err.Error())
	}
}
