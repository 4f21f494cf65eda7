package extension

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Reason classifies errors and refusals. The set is closed.
type Reason string

// Reasons why there is no resolution.
const (
	// NoBundle: no catalog has a bundle that satisfies all conditions.
	NoBundle Reason = "no-bundle"
	// Ambiguous: several catalogs have such a bundle, and no priority decides.
	Ambiguous Reason = "ambiguous"
	// Unsupported: the chosen bundle declares a dependency.
	Unsupported Reason = "unsupported"
	// Invalid: a version or a version range is invalid.
	Invalid Reason = "invalid"
)

// An Error explains why OLM v1 chooses no bundle.
type Error struct {
	Reason Reason
	// Message is the message of OLM v1 in the conditions of the ClusterExtension.
	Message string
	// Hint explains what the catalogs have and what helps; it may be "".
	Hint string
	// Considered describes the catalogs that were considered.
	Considered []Considered
}

// Error returns the message with the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// unresolved returns the error for no candidate or several.
func unresolved(e Extension, catalogs []Catalog, considered []Considered, candidates []candidate) *Error {
	var message []string
	if e.Installed != nil {
		message = append(message, fmt.Sprintf("error upgrading from currently installed version %q:", e.Installed.Version))
	}
	found := "no bundles found"
	if len(candidates) > 1 {
		found = "found bundles"
	}
	message = append(message, fmt.Sprintf("%s for package %q", found, e.Package))
	if e.Version != "" {
		message = append(message, fmt.Sprintf("matching version %q", e.Version))
	}
	if len(e.Channels) > 0 {
		message = append(message, fmt.Sprintf("in channels %v", e.Channels))
	}
	if len(candidates) == 0 {
		return &Error{Reason: NoBundle, Message: strings.Join(message, " "), Hint: explainMissing(e, catalogs, considered), Considered: considered}
	}
	names := elements.Map(candidates, func(o candidate) string { return o.catalog.Name })
	slices.Sort(names)
	message = append(message, fmt.Sprintf("in multiple catalogs with the same priority %v", names))
	return &Error{
		Reason: Ambiguous, Message: strings.Join(message, " "), Considered: considered,
		Hint: fmt.Sprintf("set a higher spec.priority for one of them, or a selector in the ClusterExtension such as matchLabels: {%s: %s}", labelName, names[0]),
	}
}

// explainMissing names the condition that excluded the last bundles of each catalog.
func explainMissing(e Extension, catalogs []Catalog, considered []Considered) string {
	var say []string
	var packages, channels []string
	for i, c := range considered {
		switch {
		case c.SkipReason != "":
			say = append(say, fmt.Sprintf("catalog %s is skipped: %s", c.Catalog, c.SkipReason))
		case !c.Found:
			say = append(say, fmt.Sprintf("catalog %s does not have the package", c.Catalog))
			if content := catalogs[i].Content; content != nil {
				packages = append(packages, content.Names...)
			}
		case c.Bundles == 0:
			say = append(say, fmt.Sprintf("catalog %s has no bundle of the package", c.Catalog))
		case c.InChannels == 0:
			say = append(say, fmt.Sprintf("catalog %s has %s of it, none in the channels", c.Catalog, count(c.Bundles)))
			for _, ch := range packageOf(catalogs[i], e.Package).Channels {
				channels = append(channels, ch.Name)
			}
		case c.InRange == 0:
			say = append(say, fmt.Sprintf("catalog %s has %s of it, none in the version range", c.Catalog, count(c.InChannels)))
		default:
			say = append(say, fmt.Sprintf("catalog %s has %s of it, none of them %s or an update of it", c.Catalog, count(c.InRange), e.Installed.Name))
		}
	}
	if len(considered) == 0 {
		say = append(say, "there is no ClusterCatalog")
	}
	if suggestion := suggest.Phrase(e.Package, packages); suggestion != "" && !slices.ContainsFunc(considered, func(c Considered) bool { return c.Found }) {
		say = append(say, suggestion)
	}
	for _, name := range e.Channels {
		if suggestion := suggest.Phrase(name, channels); suggestion != "" && !slices.Contains(channels, name) {
			say = append(say, suggestion)
		}
	}
	return strings.Join(say, "; ")
}

func count(bundles int) string {
	if bundles == 1 {
		return "1 bundle"
	}
	return fmt.Sprintf("%d bundles", bundles)
}

// explanation explains why a candidate was chosen.
func (o candidate) explanation(e Extension, considered []Considered) string {
	at := slices.IndexFunc(considered, func(c Considered) bool { return c.Catalog == o.catalog.Name })
	c := considered[at]
	var conditions []string
	if len(e.Channels) > 0 {
		conditions = append(conditions, "in "+plural("channel", e.Channels))
	}
	if e.Version != "" {
		conditions = append(conditions, "in the range "+e.Version)
	}
	if e.Installed != nil && !e.SelfCertified {
		conditions = append(conditions, fmt.Sprintf("that are %s or an update of it", e.Installed.Name))
	}
	scope := strings.Join(append([]string{count(c.Updates)}, conditions...), ", ")
	text := "it is the highest version of " + strings.Replace(scope, ", ", " ", 1)
	if c.Updates == 1 {
		text = fmt.Sprintf("it is the only one of %d %s", c.Bundles, strings.Replace(strings.Join(conditions, ", "), "that are ", "that is ", 1))
		text = strings.TrimSpace(text)
	}
	if o.isDeprecated() {
		text += "; all of them are deprecated"
	}
	others := 0
	for _, other := range considered {
		if other.Bundle != "" && other.Catalog != o.catalog.Name {
			others++
		}
	}
	if others > 0 {
		text += "; its catalog precedes others that offer one, by priority or because their bundles are deprecated"
	}
	return text
}

func plural(word string, names []string) string {
	if len(names) > 1 {
		word += "s"
	}
	return word + " " + strings.Join(names, ", ")
}
