package selection

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// KeepFormat is the value of Selection.DestFormat that keeps the media types of the sources, the default.
const KeepFormat = "keep"

// destFormats returns the values of Selection.DestFormat.
func destFormats() []string { return append(manifest.Formats(), KeepFormat) }

// Format returns the format that images are converted to, or "".
func (s *Selection) Format() manifest.Format {
	if s.DestFormat == KeepFormat {
		return ""
	}
	return manifest.Format(s.DestFormat)
}

// checkFormat returns an error unless DestFormat is known.
func (s *Selection) checkFormat() error {
	if s.DestFormat != "" && !slices.Contains(destFormats(), s.DestFormat) {
		return env.InputHint("give "+strings.Join(destFormats(), ", "), "Options.DestFormat %q", s.DestFormat)
	}
	return nil
}

// CheckFormatOf returns an error if DestFormat does not fit a destination.
func (s *Selection) CheckFormatOf(destination string) error {
	if s.Format() == manifest.Docker && strings.HasPrefix(destination, env.LayoutScheme) {
		return env.InputHint("leave it out", "Options.DestFormat docker is for docker:// and file:// destinations: an oci:// layout has the media types of OCI, and accepts others")
	}
	return s.checkFormat()
}
