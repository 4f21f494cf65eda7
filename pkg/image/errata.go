package image

import (
	"slices"
	"strings"
)

// BuildLabels are what the labels of an image say about its build and about errata. No label is defined for
// errata: images of Red Hat name their build, which an erratum lists, and an address.
type BuildLabels struct {
	// Build is the name of the build ("etcd-container-v4.20.0-202510011234"): the labels com.redhat.component,
	// version and release; "" without the first of them.
	Build string `json:"build,omitempty"`
	// URL is the label org.opencontainers.image.url, or else url.
	URL string `json:"url,omitempty"`
	// Errata are the identifiers of errata that labels name, such as "RHSA-2026:1234", sorted.
	Errata []string `json:"errata,omitempty"`
}

// maxLabel is the maximum length of a label that is used, in bytes.
const maxLabel = 2048

// ReadBuildLabels reads the labels of an image.
func ReadBuildLabels(labels map[string]string) (b BuildLabels) {
	get := func(name string) string {
		if text := strings.TrimSpace(labels[name]); len(text) <= maxLabel {
			return text
		}
		return ""
	}
	if b.Build = get("com.redhat.component"); b.Build != "" {
		for _, name := range []string{"version", "release"} {
			if text := get(name); text != "" {
				b.Build += "-" + text
			}
		}
	}
	for _, name := range []string{"org.opencontainers.image.url", "url"} {
		if text := get(name); b.URL == "" && (strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")) {
			b.URL = text
		}
	}
	for name := range labels {
		b.Errata = append(b.Errata, errataIn(get(name))...)
	}
	slices.Sort(b.Errata)
	b.Errata = slices.Compact(b.Errata)
	return b
}

// IsZero reports whether the labels say nothing.
func (b *BuildLabels) IsZero() bool { return b.Build == "" && b.URL == "" && len(b.Errata) == 0 }

// errataIn returns the identifiers of errata in a text: RHSA, RHBA or RHEA, a year of four digits and a number.
func errataIn(text string) (found []string) {
	for _, kind := range []string{"RHSA-", "RHBA-", "RHEA-"} {
		for rest := text; ; {
			_, after, ok := strings.Cut(rest, kind)
			if !ok {
				break
			}
			rest = after
			year := digits(after)
			if year != 4 || len(after) == year || after[year] != ':' {
				continue
			}
			if n := digits(after[year+1:]); n >= 3 && n <= 6 {
				found = append(found, kind+after[:year+1+n])
			}
		}
	}
	return found
}

// digits returns how many digits a text begins with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}
