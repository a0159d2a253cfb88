package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"flightdeck.internal/interop/store"
)

// nest has every kind of nested attribute and block.
type nest struct{ world }

func newNest() resource.Resource { return &nest{} }

func (r *nest) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_nest"
}

// rows are attributes of a nested object: one required, one with a default, one computed that keeps its value.
func rows() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"text":   schema.StringAttribute{Required: true},
		"weight": schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(1)},
		"made":   madeAttribute(),
	}
}

func (r *nest) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	single := rows()
	single["kind"] = schema.StringAttribute{Optional: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}}
	single["secret"] = schema.StringAttribute{Optional: true, Sensitive: true}
	response.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"id":     idAttribute(),
			"name":   nameAttribute(),
			"upper":  schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{upperName{}}},
			"stamp":  schema.StringAttribute{Computed: true, Description: "Another one at every change."},
			"single": schema.SingleNestedAttribute{Optional: true, Attributes: single},
			"list":   schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: rows()}},
			"set": schema.SetNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"text":   schema.StringAttribute{Required: true},
				"weight": schema.Int64Attribute{Optional: true},
			}}},
			"map": schema.MapNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: rows()}},
		},
		Blocks: map[string]schema.Block{
			"one": schema.SingleNestedBlock{Attributes: map[string]schema.Attribute{
				"zone": schema.StringAttribute{Optional: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
				"size": schema.Int64Attribute{Optional: true},
			}},
			"many": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
				Attributes: rows(),
				Blocks: map[string]schema.Block{
					"inner": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
						"word": schema.StringAttribute{Required: true},
					}}},
				},
			}},
			"any": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
				"port":  schema.Int64Attribute{Required: true},
				"proto": schema.StringAttribute{Optional: true},
			}}},
		},
	}
}

// ValidateConfig refuses the text "refuse" at its place in the map and in an inner block, and warns about a name.
func (r *nest) ValidateConfig(ctx context.Context, request resource.ValidateConfigRequest, response *resource.ValidateConfigResponse) {
	if err := tftypes.Walk(request.Config.Raw, func(at *tftypes.AttributePath, value tftypes.Value) (bool, error) {
		var text string
		if !value.IsKnown() || value.IsNull() || !value.Type().Is(tftypes.String) || value.As(&text) != nil {
			return true, nil
		}
		place := strings.Split(label(at), ".")
		switch {
		case text == "refuse" && place[0] == "map":
			response.Diagnostics.AddAttributeError(path.Root("map").AtMapKey(place[1]).AtName(place[2]), "Refused text", "The text \"refuse\" is refused in a map.")
		case text == "refuse" && place[0] == "many" && len(place) == 5:
			var outer, inner int
			_, err := fmt.Sscan(place[1]+" "+place[3], &outer, &inner)
			response.Diagnostics.AddAttributeError(path.Root("many").AtListIndex(outer).AtName("inner").AtListIndex(inner).AtName("word"), "Refused word", "The word \"refuse\" is refused in a block.")
			return true, err
		case text == "odd" && label(at) == "name":
			response.Diagnostics.AddAttributeWarning(path.Root("name"), "Odd name", "The name \"odd\" is odd.")
		}
		return true, nil
	}); err != nil {
		response.Diagnostics.AddError("Configuration not walked", err.Error())
	}
}

// label formats a path: names, numbers and keys separated by dots, with stars for elements of sets.
func label(at *tftypes.AttributePath) string {
	words := []string{}
	for _, step := range at.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			words = append(words, string(step))
		case tftypes.ElementKeyString:
			words = append(words, string(step))
		case tftypes.ElementKeyInt:
			words = append(words, fmt.Sprint(int64(step)))
		default:
			words = append(words, "*")
		}
	}
	return strings.Join(words, ".")
}

// filled replaces every unknown text of a plan by a value derived from its path.
func filled(plan tftypes.Value, make func(place string) string) (tftypes.Value, error) {
	return tftypes.Transform(plan, func(at *tftypes.AttributePath, value tftypes.Value) (tftypes.Value, error) {
		if value.IsKnown() || !value.Type().Is(tftypes.String) {
			return value, nil
		}
		return tftypes.NewValue(tftypes.String, make(label(at))), nil
	})
}

func (r *nest) make(name string, revision int64, plan tftypes.Value) (tftypes.Value, error) {
	object, there, err := r.store.Get("nest-" + name)
	if err != nil {
		return plan, err
	}
	if !there {
		object = store.Kept{Text: name}
	}
	object.Revision = revision
	object.Fields = nil
	if err := r.store.Put("nest-"+name, object); err != nil {
		return plan, err
	}
	return filled(plan, func(place string) string {
		switch place {
		case "id":
			return "nest-" + name
		case "stamp":
			return fmt.Sprintf("revision %d", revision)
		default:
			return place + " made at " + fmt.Sprint(revision)
		}
	})
}

func (r *nest) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var name types.String
	response.Diagnostics.Append(request.Plan.GetAttribute(ctx, path.Root("name"), &name)...)
	made, err := r.make(name.ValueString(), 1, request.Plan.Raw)
	if err != nil {
		response.Diagnostics.AddError("Nest not made", err.Error())
		return
	}
	response.State.Raw = made
}

// Read takes the text of `single` and the size of the block `one` from the file.
func (r *nest) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var id types.String
	response.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("id"), &id)...)
	object, there, err := r.store.Get(id.ValueString())
	switch {
	case err != nil:
		response.Diagnostics.AddError("Nest not read", err.Error())
	case !there:
		response.State.RemoveResource(ctx)
	default:
		if text, ok := object.Fields["single.text"]; ok {
			response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root("single").AtName("text"), text)...)
		}
		if text, ok := object.Fields["many.0.text"]; ok {
			response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root("many").AtListIndex(0).AtName("text"), text)...)
		}
	}
}

func (r *nest) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var name types.String
	response.Diagnostics.Append(request.Plan.GetAttribute(ctx, path.Root("name"), &name)...)
	object, _, err := r.store.Get("nest-" + name.ValueString())
	if err != nil {
		response.Diagnostics.AddError("Nest not read", err.Error())
		return
	}
	made, err := r.make(name.ValueString(), object.Revision+1, request.Plan.Raw)
	if err != nil {
		response.Diagnostics.AddError("Nest not made", err.Error())
		return
	}
	response.State.Raw = made
}

func (r *nest) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var id types.String
	response.Diagnostics.Append(request.State.GetAttribute(ctx, path.Root("id"), &id)...)
	if err := r.store.Delete(id.ValueString()); err != nil {
		response.Diagnostics.AddError("Nest not deleted", err.Error())
	}
}
