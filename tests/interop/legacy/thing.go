package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-cty/cty"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"flightdeck.internal/interop/store"
)

// thing has typical features of old providers: empty texts instead of null, values that the provider normalises, suppressed
// differences, sets of blocks, attributes in block syntax.
func thing() *schema.Resource {
	return &schema.Resource{
		Schema: map[string]*schema.Schema{
			"name": {Type: schema.TypeString, Required: true, ForceNew: true},
			"note": {Type: schema.TypeString, Optional: true, Description: "An empty text stands for none."},
			"same": {
				Type: schema.TypeString, Optional: true, Description: "Its case makes no difference.",
				DiffSuppressFunc: func(_, old, new string, _ *schema.ResourceData) bool { return strings.EqualFold(old, new) },
			},
			"hashed": {Type: schema.TypeString, Optional: true, StateFunc: func(v any) string { return hash(v.(string)) }},
			"zone":   {Type: schema.TypeString, Optional: true, Computed: true},
			"size":   {Type: schema.TypeInt, Optional: true, Default: 3, Description: "It grows in place; smaller is another thing."},
			"ratio":  {Type: schema.TypeFloat, Optional: true},
			"flag":   {Type: schema.TypeBool, Optional: true},
			"tags":   {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			"names":  {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}, Set: schema.HashString},
			"secret": {Type: schema.TypeString, Optional: true, Sensitive: true},
			"former": {Type: schema.TypeString, Optional: true, Deprecated: "Use note."},
			"one_of": {Type: schema.TypeString, Optional: true, ConflictsWith: []string{"former"}},
			"password_wo": {
				Type: schema.TypeString, Optional: true, WriteOnly: true, RequiredWith: []string{"password_wo_version"},
			},
			"password_wo_version": {Type: schema.TypeInt, Optional: true},
			"password_length":     {Type: schema.TypeInt, Computed: true},
			"digest":              {Type: schema.TypeString, Computed: true, Description: "Of the note; planned anew where the note changes."},
			"revision":            {Type: schema.TypeInt, Computed: true},
			"fail":                {Type: schema.TypeString, Optional: true, Description: "What is to fail: create, update, diff."},
			"rule": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"port":  {Type: schema.TypeInt, Required: true},
				"proto": {Type: schema.TypeString, Optional: true, Default: "tcp"},
				"hosts": {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			}}},
			"step": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"run": {Type: schema.TypeString, Required: true, ValidateDiagFunc: refuse},
				"env": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"key":   {Type: schema.TypeString, Required: true},
					"value": {Type: schema.TypeString, Optional: true},
				}}},
			}}},
			"limits": {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"cpu": {Type: schema.TypeInt, Optional: true, Default: 1},
			}}},
			"route": {Type: schema.TypeList, Optional: true, Computed: true, ConfigMode: schema.SchemaConfigModeAttr, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"to":  {Type: schema.TypeString, Optional: true},
				"via": {Type: schema.TypeString, Optional: true},
			}}},
		},
		CreateContext: create,
		ReadContext:   read,
		UpdateContext: update,
		DeleteContext: remove,
		CustomizeDiff: customize,
		Importer: &schema.ResourceImporter{StateContext: func(_ context.Context, d *schema.ResourceData, _ any) ([]*schema.ResourceData, error) {
			if d.Id() == "" {
				identity, err := d.Identity()
				if err != nil {
					return nil, err
				}
				d.SetId("thing-" + identity.Get("name").(string))
			}
			return []*schema.ResourceData{d}, d.Set("name", strings.TrimPrefix(d.Id(), "thing-"))
		}},
		Identity: &schema.ResourceIdentity{SchemaFunc: func() map[string]*schema.Schema {
			return map[string]*schema.Schema{"name": {Type: schema.TypeString, RequiredForImport: true}}
		}},
		Timeouts: &schema.ResourceTimeout{Create: schema.DefaultTimeout(time.Minute), Delete: schema.DefaultTimeout(time.Minute)},
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// refuse refuses a step that runs "refuse", and warns about one that runs "odd".
func refuse(v any, at cty.Path) diag.Diagnostics {
	switch v.(string) {
	case "refuse":
		return diag.Diagnostics{{Severity: diag.Error, Summary: "Refused step", Detail: "The step \"refuse\" is refused.", AttributePath: at}}
	case "odd":
		return diag.Diagnostics{{Severity: diag.Warning, Summary: "Odd step", Detail: "The step \"odd\" is odd.", AttributePath: at}}
	}
	return nil
}

// customize plans a new digest for a new note, and a replacement for a smaller size.
func customize(_ context.Context, d *schema.ResourceDiff, _ any) error {
	if d.Get("fail").(string) == "diff" {
		return fmt.Errorf("the difference is refused on purpose")
	}
	if d.Id() == "" {
		return nil
	}
	if d.HasChange("note") {
		if err := d.SetNewComputed("digest"); err != nil {
			return err
		}
		if err := d.SetNewComputed("revision"); err != nil {
			return err
		}
	}
	if before, after := d.GetChange("size"); after.(int) < before.(int) {
		return d.ForceNew("size")
	}
	return nil
}

func write(d *schema.ResourceData, meta any, revision int64) diag.Diagnostics {
	zone := d.Get("zone").(string)
	if zone == "" {
		zone = "z1"
	}
	fields := map[string]string{"zone": zone}
	object := store.Kept{Revision: revision, Text: d.Get("note").(string), Fields: fields}
	if err := meta.(*provided).store.Put("thing-"+d.Get("name").(string), object); err != nil {
		return diag.FromErr(err)
	}
	d.SetId("thing-" + d.Get("name").(string))
	length := d.Get("password_length").(int)
	if password, more := d.GetRawConfigAt(cty.GetAttrPath("password_wo")); !more.HasError() && !password.IsNull() {
		length = len(password.AsString())
	}
	return both(d.Set("password_length", length))
}

func create(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	all := write(d, meta, 1)
	if all.HasError() {
		return all
	}
	switch fail := d.Get("fail").(string); fail {
	case "create":
		return append(all, diag.Diagnostic{Severity: diag.Error, Summary: "Thing broke", Detail: "It was made half.", AttributePath: cty.GetAttrPath("fail")})
	case "slow":
		select {
		case <-ctx.Done():
			return append(all, diag.Diagnostic{Severity: diag.Error, Summary: "Thing not finished", Detail: "It took longer than " + d.Timeout(schema.TimeoutCreate).String() + "."})
		case <-time.After(30 * time.Second):
		}
	}
	return append(all, read(ctx, d, meta)...)
}

// read sets all attributes, like old providers: missing ones are an empty text, zero or an empty map.
func read(_ context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	object, there, err := meta.(*provided).store.Get(d.Id())
	if err != nil {
		return diag.FromErr(err)
	}
	if !there {
		d.SetId("")
		return nil
	}
	identity, err := d.Identity()
	if err != nil {
		return diag.FromErr(err)
	}
	name := strings.TrimPrefix(d.Id(), "thing-")
	return both(
		identity.Set("name", name),
		d.Set("name", name),
		d.Set("note", object.Text),
		d.Set("zone", object.Fields["zone"]),
		d.Set("digest", hash(object.Text)),
		d.Set("revision", int(object.Revision)),
	)
}

func update(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	object, _, err := meta.(*provided).store.Get(d.Id())
	if err != nil {
		return diag.FromErr(err)
	}
	if d.Get("fail").(string) == "update" {
		d.Partial(true)
		return diag.Diagnostics{{Severity: diag.Error, Summary: "Thing broke", Detail: "It was not changed.", AttributePath: cty.GetAttrPath("note")}}
	}
	all := write(d, meta, object.Revision+1)
	return append(all, read(ctx, d, meta)...)
}

func remove(_ context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	return both(meta.(*provided).store.Delete(d.Id()))
}
