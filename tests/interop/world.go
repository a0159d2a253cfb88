package main

import (
	"context"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"flightdeck.internal/interop/store"
)

// provided is the evaluated provider configuration, for its resources.
type provided struct {
	store *store.Store
	note  types.String
}

// world is embedded in resources whose objects are in the file.
type world struct{ store *store.Store }

func (w *world) Configure(_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if all, ok := request.ProviderData.(*provided); ok {
		w.store = all.store
	}
}

// old reports whether the provider acts as its earlier version, with the earlier schemas.
func old() bool { return os.Getenv("INTEROP_OLD") == "1" }

// idAttribute is computed at create and keeps its value.
func idAttribute() schema.Attribute {
	return schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
}

// madeAttribute is an idAttribute for an element that may be new.
func madeAttribute() schema.Attribute {
	return schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()}}
}

// nameAttribute is required, and a change requires replacement.
func nameAttribute() schema.Attribute {
	return schema.StringAttribute{Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}}
}

// upperName plans a computed attribute as the name in capitals, so that it is known in the plan.
type upperName struct{}

func (upperName) Description(context.Context) string         { return "The name in capitals." }
func (upperName) MarkdownDescription(context.Context) string { return "The name in capitals." }

func (upperName) PlanModifyString(ctx context.Context, request planmodifier.StringRequest, response *planmodifier.StringResponse) {
	var name types.String
	response.Diagnostics.Append(request.Plan.GetAttribute(ctx, path.Root("name"), &name)...)
	if name.IsUnknown() {
		response.PlanValue = types.StringUnknown()
	} else {
		response.PlanValue = types.StringValue(strings.ToUpper(name.ValueString()))
	}
}
