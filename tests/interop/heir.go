package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// heir supports moves from a record of this provider and from a thing of the legacy provider.
type heir struct{ world }

type heirModel struct {
	ID       types.String `tfsdk:"id"`
	Name     types.String `tfsdk:"name"`
	From     types.String `tfsdk:"from"`
	Revision types.Int64  `tfsdk:"revision"`
}

func newHeir() resource.Resource { return &heir{} }

func (r *heir) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_heir"
}

func (r *heir) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":       idAttribute(),
		"name":     nameAttribute(),
		"from":     idAttribute(),
		"revision": schema.Int64Attribute{Computed: true},
	}}
}

// MoveState decodes a record with its schema, and a thing from the JSON of its state.
func (r *heir) MoveState(ctx context.Context) []resource.StateMover {
	var of resource.SchemaResponse
	(&record{}).Schema(ctx, resource.SchemaRequest{}, &of)
	fromRecord := func(ctx context.Context, request resource.MoveStateRequest, response *resource.MoveStateResponse) {
		if request.SourceTypeName != "interop_record" || !strings.HasSuffix(request.SourceProviderAddress, "/acme/interop") || request.SourceState == nil {
			return
		}
		var was recordModel
		response.Diagnostics.Append(request.SourceState.Get(ctx, &was)...)
		now := heirModel{ID: was.ID, Name: was.Name, From: types.StringValue(request.SourceTypeName), Revision: was.Revision}
		response.Diagnostics.Append(response.TargetState.Set(ctx, &now)...)
		response.Diagnostics.Append(response.TargetPrivate.SetKey(ctx, "moved", []byte(`"from a record"`))...)
	}
	fromThing := func(ctx context.Context, request resource.MoveStateRequest, response *resource.MoveStateResponse) {
		if request.SourceTypeName != "legacy_thing" || !strings.HasSuffix(request.SourceProviderAddress, "/acme/legacy") {
			return
		}
		var was struct{ ID, Name string }
		if err := json.Unmarshal(request.SourceRawState.JSON, &was); err != nil {
			response.Diagnostics.AddError("Thing not understood", err.Error())
			return
		}
		now := heirModel{ID: types.StringValue(was.ID), Name: types.StringValue(was.Name), From: types.StringValue(request.SourceTypeName), Revision: types.Int64Value(0)}
		response.Diagnostics.Append(response.TargetState.Set(ctx, &now)...)
	}
	return []resource.StateMover{{SourceSchema: &of.Schema, StateMover: fromRecord}, {StateMover: fromThing}}
}

func (r *heir) Create(_ context.Context, _ resource.CreateRequest, response *resource.CreateResponse) {
	response.Diagnostics.AddError("Not made", "An heir is never made, it takes over.")
}

func (r *heir) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var state heirModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	object, there, err := r.store.Get(state.ID.ValueString())
	switch {
	case err != nil:
		response.Diagnostics.AddError("Heir not read", err.Error())
	case !there:
		response.State.RemoveResource(ctx)
	default:
		state.Revision = types.Int64Value(object.Revision)
		response.Diagnostics.Append(response.State.Set(ctx, &state)...)
	}
}

func (r *heir) Update(_ context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	response.State.Raw = request.Plan.Raw
}

func (r *heir) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var id types.String
	response.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("id"), &id)...)
	if err := r.store.Delete(id.ValueString()); err != nil {
		response.Diagnostics.AddError("Heir not deleted", err.Error())
	}
}
