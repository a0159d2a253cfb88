package main

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-cty/cty"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"flightdeck.internal/interop/store"
)

// disk changed its schema twice: the size was a text such as "12GB", became a number in version 1, and got a unit in
// version 2.
func disk() *schema.Resource {
	if old() {
		return &schema.Resource{
			Schema: map[string]*schema.Schema{
				"name": {Type: schema.TypeString, Required: true, ForceNew: true},
				"size": {Type: schema.TypeString, Required: true, ForceNew: true},
			},
			CreateContext: func(_ context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
				d.SetId("disk-" + d.Get("name").(string))
				return both(meta.(*provided).store.Put(d.Id(), store.Kept{Revision: 1, Text: d.Get("size").(string)}))
			},
			ReadContext:   func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil },
			DeleteContext: remove,
		}
	}
	return &schema.Resource{
		SchemaVersion: 2,
		Schema: map[string]*schema.Schema{
			"name": {Type: schema.TypeString, Required: true, ForceNew: true},
			"size": {Type: schema.TypeInt, Required: true, ForceNew: true},
			"unit": {Type: schema.TypeString, Optional: true, Default: "GB", ForceNew: true},
		},
		StateUpgraders: []schema.StateUpgrader{
			{Version: 0, Type: cty.Object(map[string]cty.Type{"id": cty.String, "name": cty.String, "size": cty.String}), Upgrade: func(_ context.Context, was map[string]any, _ any) (map[string]any, error) {
				var size int
				if _, err := fmt.Sscanf(was["size"].(string), "%d", &size); err != nil {
					return nil, fmt.Errorf("the size %v is not understood: %w", was["size"], err)
				}
				was["size"] = size
				return was, nil
			}},
			{Version: 1, Type: cty.Object(map[string]cty.Type{"id": cty.String, "name": cty.String, "size": cty.Number}), Upgrade: func(_ context.Context, was map[string]any, _ any) (map[string]any, error) {
				was["unit"] = "GB"
				return was, nil
			}},
		},
		CreateContext: func(_ context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
			d.SetId("disk-" + d.Get("name").(string))
			return both(meta.(*provided).store.Put(d.Id(), store.Kept{Revision: 1, Text: fmt.Sprint(d.Get("size"), d.Get("unit"))}))
		},
		ReadContext:   func(context.Context, *schema.ResourceData, any) diag.Diagnostics { return nil },
		DeleteContext: remove,
	}
}
