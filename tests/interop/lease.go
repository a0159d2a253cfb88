package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"flightdeck.internal/interop/store"
)

// lease is an ephemeral resource; the file counts its calls.
type lease struct{ store *store.Store }

type leaseModel struct {
	Name  types.String `tfsdk:"name"`
	Renew types.String `tfsdk:"renew"`
	Token types.String `tfsdk:"token"`
}

func newLease() ephemeral.EphemeralResource { return &lease{} }

func (r *lease) Metadata(_ context.Context, request ephemeral.MetadataRequest, response *ephemeral.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_lease"
}

func (r *lease) Schema(_ context.Context, _ ephemeral.SchemaRequest, response *ephemeral.SchemaResponse) {
	response.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"name":  schema.StringAttribute{Required: true},
		"renew": schema.StringAttribute{Optional: true, Description: "How long a lease lasts, such as \"200ms\"."},
		"token": schema.StringAttribute{Computed: true, Sensitive: true},
	}}
}

func (r *lease) Configure(_ context.Context, request ephemeral.ConfigureRequest, _ *ephemeral.ConfigureResponse) {
	if all, ok := request.ProviderData.(*provided); ok {
		r.store = all.store
	}
}

// count increments the counter of one of the lease's calls.
func (r *lease) count(name, call string) error {
	return r.store.Change(func(objects map[string]store.Kept) {
		object := objects["lease-"+name]
		fields := map[string]string{}
		for key, text := range object.Fields {
			fields[key] = text
		}
		var n int
		_, _ = fmt.Sscan(fields[call], &n)
		fields[call] = fmt.Sprint(n + 1)
		object.Fields = fields
		object.Text = call
		objects["lease-"+name] = object
	})
}

type leasePrivate struct{ Name, Renew string }

func (p leasePrivate) next() time.Time {
	length, err := time.ParseDuration(p.Renew)
	if err != nil || length <= 0 {
		return time.Time{}
	}
	return time.Now().Add(length)
}

func (r *lease) Open(ctx context.Context, request ephemeral.OpenRequest, response *ephemeral.OpenResponse) {
	var config leaseModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}
	if config.Name.ValueString() == "refuse" {
		response.Diagnostics.AddAttributeError(path.Root("name"), "Lease refused", "The name \"refuse\" is refused.")
		return
	}
	if err := r.count(config.Name.ValueString(), "opened"); err != nil {
		response.Diagnostics.AddError("Lease not opened", err.Error())
		return
	}
	config.Token = types.StringValue("token-for-" + config.Name.ValueString())
	response.Diagnostics.Append(response.Result.Set(ctx, &config)...)
	private := leasePrivate{Name: config.Name.ValueString(), Renew: config.Renew.ValueString()}
	text, _ := json.Marshal(private)
	response.Diagnostics.Append(response.Private.SetKey(ctx, "lease", text)...)
	response.RenewAt = private.next()
}

func (r *lease) of(text []byte) (leasePrivate, error) {
	var private leasePrivate
	return private, json.Unmarshal(text, &private)
}

func (r *lease) Renew(ctx context.Context, request ephemeral.RenewRequest, response *ephemeral.RenewResponse) {
	text, more := request.Private.GetKey(ctx, "lease")
	response.Diagnostics.Append(more...)
	private, err := r.of(text)
	if err == nil {
		err = r.count(private.Name, "renewed")
	}
	if err != nil {
		response.Diagnostics.AddError("Lease not renewed", err.Error())
		return
	}
	response.RenewAt = private.next()
}

func (r *lease) Close(ctx context.Context, request ephemeral.CloseRequest, response *ephemeral.CloseResponse) {
	text, more := request.Private.GetKey(ctx, "lease")
	response.Diagnostics.Append(more...)
	private, err := r.of(text)
	if err == nil {
		err = r.count(private.Name, "closed")
	}
	if err != nil {
		response.Diagnostics.AddError("Lease not closed", err.Error())
	}
}
