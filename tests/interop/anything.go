package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// anything holds a value of any type.
type anything struct{}

type anythingModel struct {
	Value types.Dynamic `tfsdk:"value"`
	Same  types.Dynamic `tfsdk:"same"`
}

func newAnything() resource.Resource { return &anything{} }

func (r *anything) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_anything"
}

func (r *anything) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"value": schema.DynamicAttribute{Required: true},
			"same":  schema.DynamicAttribute{Computed: true, Description: "The value again, known once it is made."},
		},
	}
}

func (r *anything) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var plan anythingModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	plan.Same = plan.Value
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

func (r *anything) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (r *anything) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var plan anythingModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	plan.Same = plan.Value
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

func (r *anything) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
