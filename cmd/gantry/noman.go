//go:build !man

package main

import "github.com/spf13/cobra"

// addManual adds nothing: manual pages are made by make man.
func addManual(*cobra.Command) {}
