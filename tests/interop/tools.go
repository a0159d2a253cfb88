//go:build tools

// Programs that the tests build beside this one: named here, so that their versions and sums are kept in go.mod and go.sum.
package main

import _ "github.com/hashicorp/terraform-provider-time"
