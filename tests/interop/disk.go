package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"flightdeck.internal/interop/store"
)

// disk changed its schema and its identity between versions. The size was a text such as "12GB" and is now a number with a
// unit. The identity was a path "REGION/NAME" and is now a region and a name.
type disk struct{ world }

type diskModel struct {
	ID   types.String `tfsdk:"id"`
	Name types.String `tfsdk:"name"`
	Size types.Int64  `tfsdk:"size"`
	Unit types.String `tfsdk:"unit"`
	Told types.String `tfsdk:"told"`
}

type oldDiskModel struct {
	ID   types.String `tfsdk:"id"`
	Name types.String `tfsdk:"name"`
	Size types.String `tfsdk:"size"`
}

type diskIdentity struct {
	Region types.String `tfsdk:"region"`
	Name   types.String `tfsdk:"name"`
}

const diskRegion = "here"

func newDisk() resource.Resource {
	if old() {
		return &oldDisk{}
	}
	return &disk{}
}

func (r *disk) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_disk"
	response.ResourceBehavior.MutableIdentity = false
}

func oldDiskSchema() schema.Schema {
	return schema.Schema{Attributes: map[string]schema.Attribute{
		"id":   idAttribute(),
		"name": nameAttribute(),
		"size": schema.StringAttribute{Required: true},
	}}
}

func (r *disk) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{Version: 2, Attributes: map[string]schema.Attribute{
		"id":   idAttribute(),
		"name": nameAttribute(),
		"size": schema.Int64Attribute{Required: true},
		"unit": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("GB")},
		"told": schema.StringAttribute{Computed: true, Description: "The identity that the last change was told."},
	}}
}

func (r *disk) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, response *resource.IdentitySchemaResponse) {
	response.IdentitySchema = identityschema.Schema{Version: 1, Attributes: map[string]identityschema.Attribute{
		"region": identityschema.StringAttribute{OptionalForImport: true},
		"name":   identityschema.StringAttribute{RequiredForImport: true},
	}}
}

func (r *disk) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	prior := oldDiskSchema()
	return map[int64]resource.StateUpgrader{0: {PriorSchema: &prior, StateUpgrader: func(ctx context.Context, request resource.UpgradeStateRequest, response *resource.UpgradeStateResponse) {
		var was oldDiskModel
		response.Diagnostics.Append(request.State.Get(ctx, &was)...)
		now := diskModel{ID: was.ID, Name: was.Name, Told: types.StringValue("nothing, it was upgraded")}
		var size int64
		var unit string
		if _, err := fmt.Sscanf(was.Size.ValueString(), "%d%s", &size, &unit); err != nil {
			response.Diagnostics.AddAttributeError(path.Root("size"), "Size not understood", err.Error())
			return
		}
		now.Size, now.Unit = types.Int64Value(size), types.StringValue(unit)
		response.Diagnostics.Append(response.State.Set(ctx, &now)...)
	}}}
}

func (r *disk) UpgradeIdentity(context.Context) map[int64]resource.IdentityUpgrader {
	prior := oldDiskIdentity()
	return map[int64]resource.IdentityUpgrader{0: {PriorSchema: &prior, IdentityUpgrader: func(ctx context.Context, request resource.UpgradeIdentityRequest, response *resource.UpgradeIdentityResponse) {
		var was types.String
		response.Diagnostics.Append(request.Identity.GetAttribute(ctx, path.Root("path"), &was)...)
		region, name, _ := strings.Cut(was.ValueString(), "/")
		now := diskIdentity{Region: types.StringValue(region), Name: types.StringValue(name)}
		response.Diagnostics.Append(response.Identity.Set(ctx, &now)...)
	}}}
}

func (r *disk) write(plan *diskModel) error {
	plan.ID = types.StringValue("disk-" + plan.Name.ValueString())
	fields := map[string]string{"unit": plan.Unit.ValueString()}
	return r.store.Put(plan.ID.ValueString(), store.Kept{Revision: plan.Size.ValueInt64(), Text: plan.Name.ValueString(), Fields: fields})
}

func (r *disk) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var plan diskModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	if response.Diagnostics.HasError() {
		return
	}
	plan.Told = types.StringValue("nothing, it was created")
	if err := r.write(&plan); err != nil {
		response.Diagnostics.AddError("Disk not made", err.Error())
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
	identity := diskIdentity{Region: types.StringValue(diskRegion), Name: plan.Name}
	response.Diagnostics.Append(response.Identity.Set(ctx, &identity)...)
}

// Read warns if the state has no identity, because the engine must keep it.
func (r *disk) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var state diskModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	if response.Diagnostics.HasError() {
		return
	}
	if request.Identity == nil || request.Identity.Raw.IsNull() {
		response.Diagnostics.AddWarning("No identity", "The disk was read without its identity.")
	}
	object, there, err := r.store.Get(state.ID.ValueString())
	switch {
	case err != nil:
		response.Diagnostics.AddError("Disk not read", err.Error())
		return
	case !there:
		response.State.RemoveResource(ctx)
		return
	}
	state.Name, state.Size, state.Unit = types.StringValue(object.Text), types.Int64Value(object.Revision), types.StringValue(object.Fields["unit"])
	response.Diagnostics.Append(response.State.Set(ctx, &state)...)
	identity := diskIdentity{Region: types.StringValue(diskRegion), Name: state.Name}
	response.Diagnostics.Append(response.Identity.Set(ctx, &identity)...)
}

func (r *disk) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var plan diskModel
	var told diskIdentity
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	response.Diagnostics.Append(request.Identity.Get(ctx, &told)...)
	if response.Diagnostics.HasError() {
		return
	}
	plan.Told = types.StringValue(told.Region.ValueString() + " " + told.Name.ValueString())
	if err := r.write(&plan); err != nil {
		response.Diagnostics.AddError("Disk not changed", err.Error())
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

// Delete requires the identity, like providers that find objects by it.
func (r *disk) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var id types.String
	var told diskIdentity
	response.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("id"), &id)...)
	response.Diagnostics.Append(request.Identity.Get(ctx, &told)...)
	if response.Diagnostics.HasError() {
		return
	}
	if "disk-"+told.Name.ValueString() != id.ValueString() {
		response.Diagnostics.AddError("Another disk", "The identity to delete is of "+told.Name.ValueString()+".")
		return
	}
	if err := r.store.Delete(id.ValueString()); err != nil {
		response.Diagnostics.AddError("Disk not deleted", err.Error())
	}
}

// ImportState accepts an id "disk-NAME" or an identity; the region defaults to the only one.
func (r *disk) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	id := request.ID
	if id == "" {
		var identity diskIdentity
		response.Diagnostics.Append(request.Identity.Get(ctx, &identity)...)
		if !identity.Region.IsNull() && identity.Region.ValueString() != diskRegion {
			response.Diagnostics.AddError("No such region", "There is no region "+identity.Region.ValueString()+".")
		}
		if response.Diagnostics.HasError() {
			return
		}
		id = "disk-" + identity.Name.ValueString()
	}
	name := strings.TrimPrefix(id, "disk-")
	response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root("id"), id)...)
	response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root("name"), name)...)
	identity := diskIdentity{Region: types.StringValue(diskRegion), Name: types.StringValue(name)}
	response.Diagnostics.Append(response.Identity.Set(ctx, &identity)...)
}

// oldDisk is the earlier version of the disk.
type oldDisk struct{ world }

func (r *oldDisk) Metadata(ctx context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	(&disk{}).Metadata(ctx, request, response)
}

func (r *oldDisk) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = oldDiskSchema()
}

func oldDiskIdentity() identityschema.Schema {
	return identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"path": identityschema.StringAttribute{RequiredForImport: true},
	}}
}

func (r *oldDisk) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, response *resource.IdentitySchemaResponse) {
	response.IdentitySchema = oldDiskIdentity()
}

func (r *oldDisk) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var plan oldDiskModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	plan.ID = types.StringValue("disk-" + plan.Name.ValueString())
	var size int64
	var unit string
	if _, err := fmt.Sscanf(plan.Size.ValueString(), "%d%s", &size, &unit); err != nil {
		response.Diagnostics.AddAttributeError(path.Root("size"), "Size not understood", err.Error())
		return
	}
	if err := r.store.Put(plan.ID.ValueString(), store.Kept{Revision: size, Text: plan.Name.ValueString(), Fields: map[string]string{"unit": unit}}); err != nil {
		response.Diagnostics.AddError("Disk not made", err.Error())
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
	response.Diagnostics.Append(response.Identity.SetAttribute(ctx, path.Root("path"), diskRegion+"/"+plan.Name.ValueString())...)
}

func (r *oldDisk) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (r *oldDisk) Update(_ context.Context, _ resource.UpdateRequest, response *resource.UpdateResponse) {
	response.Diagnostics.AddError("Not of old", "The disk could not be changed of old.")
}

func (r *oldDisk) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var id types.String
	response.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("id"), &id)...)
	if err := r.store.Delete(id.ValueString()); err != nil {
		response.Diagnostics.AddError("Disk not deleted", err.Error())
	}
}
