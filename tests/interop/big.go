package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// bigSchema reports whether the environment requests the type with the large schema.
func bigSchema() bool { return os.Getenv("INTEROP_BIG_SCHEMA") == "1" }

// big has a schema of about five megabytes: 128 optional sections of 128 optional attributes.
type big struct{}

const bigSections, bigAttributes = 128, 128

func newBig() resource.Resource { return &big{} }

func (r *big) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_big"
}

func bigAttribute(section, index int) (string, schema.Attribute) {
	name := fmt.Sprintf("attribute_%03d_%03d", section, index)
	sentence := fmt.Sprintf("What attribute %d of section %d is for, told at length. ", index, section)
	about := strings.Repeat(sentence, 5)
	switch index % 5 {
	case 0:
		return name, schema.Int64Attribute{Optional: true, Description: about}
	case 1:
		return name, schema.BoolAttribute{Optional: true, Description: about}
	case 2:
		return name, schema.ListAttribute{ElementType: types.StringType, Optional: true, Description: about}
	case 3:
		return name, schema.MapAttribute{ElementType: types.StringType, Optional: true, Description: about}
	default:
		return name, schema.StringAttribute{Optional: true, Description: about}
	}
}

func (r *big) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	all := map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed:      true,
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
	}
	for section := range bigSections {
		inner := make(map[string]schema.Attribute, bigAttributes)
		for index := range bigAttributes {
			name, attribute := bigAttribute(section, index)
			inner[name] = attribute
		}
		all[fmt.Sprintf("section_%03d", section)] = schema.SingleNestedAttribute{Optional: true, Attributes: inner}
	}
	response.Schema = schema.Schema{Description: "A type whose schema is big.", Attributes: all}
}

func (r *big) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	response.State.Raw = request.Plan.Raw
	response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root("id"), petName("big", 2))...)
}

func (r *big) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (r *big) Update(_ context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	response.State.Raw = request.Plan.Raw
}

func (r *big) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
