package main

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// joined joins one required text and any number of others.
type joined struct{}

func newJoined() function.Function { return joined{} }

func (joined) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "joined"
}

func (joined) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Parameters:        []function.Parameter{function.StringParameter{Name: "between"}},
		VariadicParameter: function.StringParameter{Name: "parts"},
		Return:            function.StringReturn{},
	}
}

func (joined) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	var between string
	var parts []string
	if response.Error = request.Arguments.Get(ctx, &between, &parts); response.Error == nil {
		response.Error = response.Result.Set(ctx, strings.Join(parts, between))
	}
}

// half halves even numbers; an odd number is an error of the argument.
type half struct{}

func newHalf() function.Function { return half{} }

func (half) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "half"
}

func (half) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Parameters: []function.Parameter{function.Int64Parameter{Name: "number"}},
		Return:     function.Int64Return{},
	}
}

func (half) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	var number int64
	if response.Error = request.Arguments.Get(ctx, &number); response.Error != nil {
		return
	}
	if number%2 != 0 {
		response.Error = function.NewArgumentFuncError(0, "an odd number has no half")
		return
	}
	response.Error = response.Result.Set(ctx, number/2)
}

// sort returns the type of an argument; it accepts null and unknown values.
type sort struct{}

func newSort() function.Function { return sort{} }

func (sort) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "sort"
}

func (sort) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Parameters: []function.Parameter{function.DynamicParameter{Name: "value", AllowNullValue: true, AllowUnknownValues: true}},
		Return:     function.StringReturn{},
	}
}

func (sort) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	var value types.Dynamic
	if response.Error = request.Arguments.Get(ctx, &value); response.Error != nil {
		return
	}
	var inner attr.Value = value
	if !value.IsNull() && !value.IsUnknown() {
		inner = value.UnderlyingValue()
	}
	said := "a value"
	switch {
	case inner.IsNull():
		said = "null"
	case inner.IsUnknown():
		said = "unknown"
	case inner.Type(ctx) != nil:
		said = inner.Type(ctx).String()
	}
	response.Error = response.Result.Set(ctx, said)
}
