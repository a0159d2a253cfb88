// The legacy provider: protocol 5 on terraform-plugin-sdk/v2, with the exceptions that its type system is allowed. Its
// objects are in one JSON file that the provider's configuration names.
package main

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"

	"flightdeck.internal/interop/store"
)

// old reports whether the provider acts as its earlier version, with the earlier schemas.
func old() bool { return os.Getenv("INTEROP_OLD") == "1" }

// provided is the evaluated provider configuration.
type provided struct {
	store *store.Store
	note  string
}

func provider() *schema.Provider {
	return &schema.Provider{
		Schema: map[string]*schema.Schema{
			"file": {Type: schema.TypeString, Required: true},
			"note": {Type: schema.TypeString, Optional: true, DefaultFunc: schema.EnvDefaultFunc("LEGACY_NOTE", "none")},
		},
		ResourcesMap: map[string]*schema.Resource{"legacy_thing": thing(), "legacy_disk": disk()},
		DataSourcesMap: map[string]*schema.Resource{
			"legacy_thing":    lookup(),
			"legacy_provider": self(),
		},
		ConfigureContextFunc: func(_ context.Context, d *schema.ResourceData) (any, diag.Diagnostics) {
			note := d.Get("note").(string)
			if raw := d.GetRawConfig(); !raw.IsNull() && !raw.GetAttr("note").IsKnown() {
				note = "(not known yet)"
			}
			return &provided{store: store.At(d.Get("file").(string)), note: note}, nil
		},
	}
}

// lookup reads a thing by its name.
func lookup() *schema.Resource {
	return &schema.Resource{
		Schema: map[string]*schema.Schema{
			"name":     {Type: schema.TypeString, Required: true},
			"note":     {Type: schema.TypeString, Computed: true},
			"revision": {Type: schema.TypeInt, Computed: true},
		},
		ReadContext: func(_ context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
			object, there, err := meta.(*provided).store.Get("thing-" + d.Get("name").(string))
			if err != nil {
				return diag.FromErr(err)
			}
			if !there {
				return diag.Errorf("there is no thing %s", d.Get("name"))
			}
			d.SetId("thing-" + d.Get("name").(string))
			return both(d.Set("note", object.Text), d.Set("revision", int(object.Revision)))
		},
	}
}

// self returns the provider's configuration.
func self() *schema.Resource {
	return &schema.Resource{
		Schema: map[string]*schema.Schema{"note": {Type: schema.TypeString, Computed: true}},
		ReadContext: func(_ context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
			d.SetId("self")
			return both(d.Set("note", meta.(*provided).note))
		},
	}
}

func both(errors ...error) diag.Diagnostics {
	var all diag.Diagnostics
	for _, err := range errors {
		if err != nil {
			all = append(all, diag.FromErr(err)...)
		}
	}
	return all
}

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: provider, ProviderAddr: "flightdeck.internal/test/legacy"})
}
