//go:build tools

// Programs that the tests build together with this one, listed here so that go.mod and go.sum contain their versions.
package main

import _ "github.com/hashicorp/terraform-provider-time"
