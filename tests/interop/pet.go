package main

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// pet generates a name at create and stores no object, so it is as fast as the framework allows.
type pet struct{}

type petModel struct {
	ID      types.String `tfsdk:"id"`
	Keepers types.Map    `tfsdk:"keepers"`
	Length  types.Int64  `tfsdk:"length"`
	Prefix  types.String `tfsdk:"prefix"`
}

func newPet() resource.Resource { return &pet{} }

func (r *pet) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_pet"
}

func (r *pet) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:      true,
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"keepers": schema.MapAttribute{
				ElementType:   types.StringType,
				Optional:      true,
				Description:   "Other keepers are another pet.",
				PlanModifiers: []planmodifier.Map{mapplanmodifier.RequiresReplace()},
			},
			"length": schema.Int64Attribute{
				Optional:      true,
				Computed:      true,
				Default:       int64default.StaticInt64(2),
				Description:   "How many words the name has.",
				PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplace()},
			},
			"prefix": schema.StringAttribute{
				Optional:      true,
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			},
		},
	}
}

var (
	petKinds     = []string{"badger", "crane", "dormouse", "finch", "gecko", "heron", "ibis", "jackdaw", "lynx", "marten", "newt", "otter", "pika", "raven", "stoat", "tern"}
	petManners   = []string{"brisk", "calm", "daring", "eager", "frank", "gentle", "humble", "jolly", "keen", "lively", "mellow", "nimble", "quiet", "ready", "steady", "witty"}
	petTurnWords = []string{"ably", "boldly", "deeply", "easily", "firmly", "gladly", "hardly", "kindly", "mildly", "nearly", "openly", "partly", "rarely", "safely", "truly", "widely"}
)

// petName has `length` words: the last one is an animal, the one before it an adjective. A number makes it unique.
func petName(prefix string, length int64) string {
	words := make([]string, 0, length+2)
	if prefix != "" {
		words = append(words, prefix)
	}
	for left := length; left > 0; left-- {
		from := petTurnWords
		switch left {
		case 1:
			from = petKinds
		case 2:
			from = petManners
		}
		words = append(words, from[rand.IntN(len(from))])
	}
	return strings.Join(append(words, strconv.FormatUint(uint64(rand.Uint32()), 36)), "-")
}

func (r *pet) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var plan petModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	if response.Diagnostics.HasError() {
		return
	}
	plan.ID = types.StringValue(petName(plan.Prefix.ValueString(), plan.Length.ValueInt64()))
	response.Diagnostics.Append(response.State.Set(ctx, &plan)...)
}

func (r *pet) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update is never called, because every change requires replacement.
func (r *pet) Update(_ context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	response.State.Raw = request.Plan.Raw
}

func (r *pet) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// nothing stores no object: it has an id, and triggers that replace it.
type nothing struct{}

func newNothing() resource.Resource { return &nothing{} }

func (r *nothing) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_null"
}

func (r *nothing) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:      true,
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"triggers": schema.MapAttribute{
				ElementType:   types.StringType,
				Optional:      true,
				PlanModifiers: []planmodifier.Map{mapplanmodifier.RequiresReplace()},
			},
		},
	}
}

func (r *nothing) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	response.State.Raw = request.Plan.Raw
	id := strconv.FormatUint(rand.Uint64(), 10)
	response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root("id"), id)...)
}

func (r *nothing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update is never called, because changed triggers require replacement.
func (r *nothing) Update(_ context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	response.State.Raw = request.Plan.Raw
}

func (r *nothing) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
