//go:build !man

package main

import "github.com/spf13/cobra"

// addManual adds nothing: make man writes the manual pages.
func (*app) addManual(*cobra.Command) {}
