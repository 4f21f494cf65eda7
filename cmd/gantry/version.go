package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/ocmirror"
)

// version is set by the linker for a release: -X main.version=v1.2.3.
var version string

func (a *app) versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "version",
		Long: `Print the version, the Go version and the platform.

` + exitCodes(nil),
		Example: `  gantry version
  gantry --version
  gantry version -o yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.printVersion() },
	}
	formFlag(c.Flags(), "format of the result: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

// printVersion prints the version.
func (a *app) printVersion() error {
	v, platform := buildVersion(), runtime.GOOS+"/"+runtime.GOARCH
	if a.format != outputText {
		all := versionDocument{Version: v, Go: runtime.Version(), Platform: platform}
		if a.isOcMirror() {
			build := ocmirror.NewBuild(v)
			all.ClientVersion = &build
		}
		return a.result(all, nil)
	}
	if a.versionText != "" {
		return a.exact(a.versionText)
	}
	_, err := fmt.Fprintf(a.stdout, "gantry %s (%s, %s/%s)\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// buildVersion returns the release, or the version that the go command recorded.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// A versionDocument is what gantry version -o json prints.
type versionDocument struct {
	// ClientVersion has the same under the names of oc mirror, if the program has its name.
	ClientVersion *ocmirror.Build `json:"clientVersion,omitempty"`
	Go            string          `json:"go"`
	Platform      string          `json:"platform"`
	Version       string          `json:"version"`
}
