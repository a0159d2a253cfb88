package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// offering is the provider with an additional function once its configuration has a note: the note names the function,
// which returns the note and its argument.
type offering struct {
	tfprotov6.ProviderServer
	provider *interop
}

func (o offering) GetFunctions(ctx context.Context, request *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	response, err := o.ProviderServer.GetFunctions(ctx, request)
	if err == nil && o.provider.offers != "" {
		response.Functions[o.provider.offers] = &tfprotov6.Function{
			Parameters: []*tfprotov6.FunctionParameter{{Name: "whom", Type: tftypes.String}},
			Return:     &tfprotov6.FunctionReturn{Type: tftypes.String},
		}
	}
	return response, err
}

func (o offering) CallFunction(ctx context.Context, request *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	if o.provider.offers == "" || request.Name != o.provider.offers {
		return o.ProviderServer.CallFunction(ctx, request)
	}
	said, err := request.Arguments[0].Unmarshal(tftypes.String)
	if err != nil {
		return nil, err
	}
	var whom string
	if err := said.As(&whom); err != nil {
		return nil, err
	}
	result, err := tfprotov6.NewDynamicValue(tftypes.String, tftypes.NewValue(tftypes.String, o.provider.offers+" "+whom))
	return &tfprotov6.CallFunctionResponse{Result: &result}, err
}
