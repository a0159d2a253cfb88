package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"flightdeck.internal/interop/store"
)

// vault takes a write-only password and stores its digest in private state.
type vault struct{ world }

type vaultModel struct {
	ID       types.String `tfsdk:"id"`
	Name     types.String `tfsdk:"name"`
	Password types.String `tfsdk:"password_wo"`
	Version  types.Int64  `tfsdk:"password_wo_version"`
	Token    types.String `tfsdk:"token"`
	Before   types.String `tfsdk:"digest_before"`
	Planned  types.String `tfsdk:"planned_with"`
}

func newVault() resource.Resource { return &vault{} }

func (r *vault) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_vault"
}

func (r *vault) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":                  idAttribute(),
		"name":                nameAttribute(),
		"password_wo":         schema.StringAttribute{Optional: true, WriteOnly: true, Sensitive: true},
		"password_wo_version": schema.Int64Attribute{Optional: true},
		"token":               schema.StringAttribute{Computed: true, Sensitive: true},
		"digest_before":       schema.StringAttribute{Computed: true, Description: "The digest that the private state had before the last change."},
		"planned_with":        schema.StringAttribute{Computed: true, Description: "What the plan put into the private state, as the update found it."},
	}}
}

// ModifyPlan stores a JSON text for the update in the planned private state.
func (r *vault) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse) {
	if !request.Plan.Raw.IsNull() && !request.State.Raw.IsNull() {
		response.Diagnostics.Append(response.Private.SetKey(ctx, "planned", []byte(`"by the plan"`))...)
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// word reads a JSON text from private state.
func word(raw []byte) types.String {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) != nil {
		return types.StringNull()
	}
	return types.StringValue(text)
}

func (r *vault) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var plan, config vaultModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}
	plan.ID = types.StringValue("vault-" + plan.Name.ValueString())
	plan.Token = types.StringValue("token-of-" + plan.Name.ValueString())
	plan.Before, plan.Planned = types.StringNull(), types.StringNull()
	made := digest(config.Password.ValueString())
	if err := r.store.Put(plan.ID.ValueString(), store.Kept{Revision: 1, Text: made}); err != nil {
		response.Diagnostics.AddError("Vault not made", err.Error())
		return
	}
	response.Diagnostics.Append(response.Private.SetKey(ctx, "digest", []byte(`"`+made+`"`))...)
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

// Read copies the text from the file into private state.
func (r *vault) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var state vaultModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	object, there, err := r.store.Get(state.ID.ValueString())
	switch {
	case err != nil:
		response.Diagnostics.AddError("Vault not read", err.Error())
	case !there:
		response.State.RemoveResource(ctx)
	default:
		seen, _ := json.Marshal(object.Text)
		response.Diagnostics.Append(response.Private.SetKey(ctx, "seen", seen)...)
	}
}

func (r *vault) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var plan, config vaultModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	before, more := request.Private.GetKey(ctx, "digest")
	response.Diagnostics.Append(more...)
	planned, more := request.Private.GetKey(ctx, "planned")
	response.Diagnostics.Append(more...)
	if response.Diagnostics.HasError() {
		return
	}
	plan.Token = types.StringValue("token-of-" + plan.Name.ValueString())
	plan.Before, plan.Planned = word(before), word(planned)
	made := digest(config.Password.ValueString())
	if err := r.store.Put(plan.ID.ValueString(), store.Kept{Revision: 2, Text: made}); err != nil {
		response.Diagnostics.AddError("Vault not changed", err.Error())
		return
	}
	response.Diagnostics.Append(response.Private.SetKey(ctx, "digest", []byte(`"`+made+`"`))...)
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

func (r *vault) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var id types.String
	response.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("id"), &id)...)
	if err := r.store.Delete(id.ValueString()); err != nil {
		response.Diagnostics.AddError("Vault not deleted", err.Error())
	}
}
