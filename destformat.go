package gantry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/manifest"
	"github.com/gantry-mirror/gantry/plan"
)

// KeepFormat is the value of Selection.DestFormat that keeps the media types of the sources, the default.
const KeepFormat = "keep"

// DestFormats returns the values of Selection.DestFormat.
func DestFormats() []string { return append(manifest.Formats(), KeepFormat) }

// format returns the format that images are converted to, or "".
func (s *Selection) format() manifest.Format {
	if s.DestFormat == KeepFormat {
		return ""
	}
	return manifest.Format(s.DestFormat)
}

// checkFormat returns an error unless DestFormat is known.
func (s *Selection) checkFormat() error {
	if s.DestFormat != "" && !slices.Contains(DestFormats(), s.DestFormat) {
		return inputHint("give "+strings.Join(DestFormats(), ", "), "Options.DestFormat %q", s.DestFormat)
	}
	return nil
}

// checkFormatOf returns an error if DestFormat does not fit a destination.
func (s *Selection) checkFormatOf(destination string) error {
	if s.format() == manifest.Docker && strings.HasPrefix(destination, LayoutScheme) {
		return inputHint("leave it out", "Options.DestFormat docker is for docker:// and file:// destinations: an oci:// layout has the media types of OCI, and accepts others")
	}
	return s.checkFormat()
}

// checkFormatKept returns an error if a configuration without DestFormat would convert the images of an image set back that
// were converted in its last run to a mirror. Plans and archives have their format in them, so that this is a warning.
func (e *Env) checkFormatKept(configured bool, given string, t *RegistryDestination, p *plan.Plan) error {
	switch {
	case t == nil || t.format == "" || p.Format != "" || given != "":
		return nil
	case !configured:
		e.warn("the image set %q was mirrored to %s with media types converted to %s, and its images are converted no longer: those that had other digests are copied again, and gantry prune deletes the others", p.Name, t, t.format)
		return nil
	}
	return inputHint(fmt.Sprintf("set Options.DestFormat to %s as before, or to %s if the registry accepts the media types of the sources now: images with other digests are then copied again", t.format, KeepFormat),
		"the image set %q was mirrored to %s with Options.DestFormat %s, and this run has no Options.DestFormat", p.Name, t, t.format)
}
