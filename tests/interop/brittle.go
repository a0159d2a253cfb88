package main

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"flightdeck.internal/interop/store"
)

// brittle fails half way with a partial result in the state, and can be slow up to its timeouts.
type brittle struct{ world }

type brittleModel struct {
	ID       types.String   `tfsdk:"id"`
	Name     types.String   `tfsdk:"name"`
	Text     types.String   `tfsdk:"text"`
	Fail     types.String   `tfsdk:"fail"`
	Delay    types.String   `tfsdk:"delay"`
	Done     types.String   `tfsdk:"done"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

func newBrittle() resource.Resource { return &brittle{} }

func (r *brittle) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_brittle"
}

func (r *brittle) Schema(ctx context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"id":    idAttribute(),
			"name":  nameAttribute(),
			"text":  schema.StringAttribute{Optional: true},
			"fail":  schema.StringAttribute{Optional: true, Description: "What is to fail: create, update."},
			"delay": schema.StringAttribute{Optional: true, Description: "How long a create takes, such as \"20ms\"."},
			"done":  schema.StringAttribute{Computed: true},
		},
		Blocks: map[string]schema.Block{"timeouts": timeouts.Block(ctx, timeouts.Opts{Create: true, Delete: true})},
	}
}

func (r *brittle) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var plan brittleModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	limit, more := plan.Timeouts.Create(ctx, time.Minute)
	response.Diagnostics.Append(more...)
	delay, err := time.ParseDuration(plan.Delay.ValueString() + "0ns")
	if err != nil {
		response.Diagnostics.AddAttributeError(path.Root("delay"), "No duration", err.Error())
	}
	if response.Diagnostics.HasError() {
		return
	}
	plan.ID = types.StringValue("brittle-" + plan.Name.ValueString())
	plan.Done = types.StringValue("begun")
	if err := r.store.Put(plan.ID.ValueString(), store.Kept{Revision: 1, Text: plan.Text.ValueString()}); err != nil {
		response.Diagnostics.AddError("Brittle not made", err.Error())
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		response.Diagnostics.AddError("Brittle not finished", "It took longer than "+limit.String()+".")
		return
	}
	if plan.Fail.ValueString() == "create" {
		response.Diagnostics.AddAttributeError(path.Root("fail"), "Brittle broke", "It was made half.")
		return
	}
	plan.Done = types.StringValue("created")
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

func (r *brittle) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var state brittleModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	object, there, err := r.store.Get(state.ID.ValueString())
	switch {
	case err != nil:
		response.Diagnostics.AddError("Brittle not read", err.Error())
	case !there:
		response.State.RemoveResource(ctx)
	default:
		if object.Text != state.Text.ValueString() {
			state.Text = types.StringValue(object.Text)
		}
		response.Diagnostics.Append(response.State.Set(ctx, &state)...)
	}
}

func (r *brittle) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var plan brittleModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	if response.Diagnostics.HasError() {
		return
	}
	if err := r.store.Put(plan.ID.ValueString(), store.Kept{Revision: 2, Text: plan.Text.ValueString()}); err != nil {
		response.Diagnostics.AddError("Brittle not changed", err.Error())
		return
	}
	plan.Done = types.StringValue("updated")
	if plan.Fail.ValueString() == "update" {
		plan.Done = types.StringValue("updated half")
		response.Diagnostics.AddAttributeError(path.Root("text"), "Brittle broke", "It was changed half.")
	}
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

// Delete fails if the file says that the object is held.
func (r *brittle) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var id types.String
	response.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("id"), &id)...)
	object, _, err := r.store.Get(id.ValueString())
	if err == nil && object.Fields["held"] != "" {
		response.Diagnostics.AddError("Brittle is held", "It is held by "+object.Fields["held"]+".")
		return
	}
	if err := r.store.Delete(id.ValueString()); err != nil {
		response.Diagnostics.AddError("Brittle not deleted", err.Error())
	}
}
