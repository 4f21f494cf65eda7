// Package view renders the results of commands for people: texts and tables. It also declares the
// JSON of commands whose result is no type of another package.
//
// A function here takes a result and returns its text. Nothing is decided and nothing is read here.
// The caller removes characters that a terminal could interpret before it prints a text; names that
// are part of a line of several go through Printable or OneLine.
package view

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// maxListed is the number of lines of a list in a text. The JSON has all of them.
const maxListed = 20

// List writes lines with an indent. Of more than 20 lines it writes the first, and counts the rest.
func List(b *strings.Builder, lines []string) {
	writeAll(b, "  %s\n", lines[:min(len(lines), maxListed)])
	writeMore(b, len(lines))
}

// writeMore counts the lines of a list that are not written.
func writeMore(b *strings.Builder, n int) {
	writeIf(b, n > maxListed, "  ... and %d more (--output json lists all)\n", n-maxListed)
}

// section writes lines with a title, if there are any.
func section(b *strings.Builder, title string, lines []string) {
	if len(lines) > 0 {
		b.WriteString(title + "\n")
		List(b, lines)
	}
}

// paragraph is section with an empty line after it.
func paragraph(b *strings.Builder, title string, lines []string) {
	section(b, title, lines)
	writeIf(b, len(lines) > 0, "\n")
}

// textIf returns a text if a condition holds, and otherwise "".
func textIf(holds bool, format string, args ...any) string {
	if !holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// present returns the texts that are not empty, or nil.
func present(texts ...string) []string {
	if texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" }); len(texts) == 0 {
		return nil
	}
	return texts
}

// joined joins the texts that are not empty.
func joined(separator string, texts ...string) string {
	return strings.Join(present(texts...), separator)
}

// writeIf writes a text if a condition holds.
func writeIf(w io.Writer, holds bool, format string, args ...any) {
	if holds {
		fmt.Fprintf(w, format, args...)
	}
}

// writeAll writes a text for each value. The format has one verb.
func writeAll[T any](w io.Writer, format string, values []T) {
	for _, value := range values {
		fmt.Fprintf(w, format, value)
	}
}

// A grouped is what was added for each key, in the order of the additions.
type grouped[K comparable, V any] struct {
	keys []K
	of   map[K][]V
}

func (g *grouped[K, V]) add(key K, value V) {
	if g.of == nil {
		g.of = map[K][]V{}
	}
	if g.of[key] == nil {
		g.keys = append(g.keys, key)
	}
	g.of[key] = append(g.of[key], value)
}

// plural returns the word for a number.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Number returns a number with its noun: "1 image" or "2 images".
func Number[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// OneLine returns an untrusted text as one line.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }), " ")
}

// Printable returns an untrusted text, quoted if it has characters that are not printable.
func Printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// Trimmed returns a text without spaces at the ends of its lines.
func Trimmed(text string) string {
	return joined("", elements.Map(slices.Collect(strings.Lines(text)), func(line string) string { return strings.TrimRight(line, " \n") + "\n" })...)
}

// Short returns a digest, shortened for people.
func Short(d digest.Digest) string {
	if s := d.String(); len(s) > 19 {
		return s[:19]
	}
	return d.String()
}

// tagged returns the end of a reference: the tags of an image, or its digest if it has none.
func tagged(tags []string, d digest.Digest) string {
	if len(tags) == 0 {
		return "@" + d.String()
	}
	return ":" + strings.Join(tags, ", ")
}

// Kinds returns how many images there are of each kind. Kinds without images are listed only if
// there are no images of releases.
func Kinds(count map[plan.ImageKind]int) string {
	of := func(all []plan.ImageKind, zero bool) (parts []string) {
		for _, kind := range all {
			if n := count[kind]; n > 0 || zero {
				parts = append(parts, fmt.Sprintf("%d %s", n, kind))
			}
		}
		return parts
	}
	platform, graph := of([]plan.ImageKind{plan.ReleaseImage, plan.ComponentImage, plan.BootImage}, false), of([]plan.ImageKind{plan.GraphImage}, false)
	rest := of([]plan.ImageKind{plan.BundleImage, plan.RelatedImage, plan.AdditionalImage, plan.CatalogImage}, len(platform)+len(graph) == 0)
	artifacts := of([]plan.ImageKind{plan.ChartImage, plan.FileImage}, false)
	attached := of([]plan.ImageKind{plan.SignatureImage, plan.AttestationImage, plan.SBOMImage, plan.ReferrerImage}, false)
	return strings.Join(slices.Concat(rest, artifacts, platform, attached, graph), ", ")
}

// NotVerified marks a release that was planned with --ignore-release-signature.
const NotVerified = "NOT VERIFIED"

// Signed returns who signed an archive: "by ci@example.com", or "with the ... key ...".
func Signed(v sshsig.Verdict) string {
	if v.Trusted {
		return fmt.Sprintf("by %s", v.Signer)
	}
	return fmt.Sprintf("with the %s key %s; set --verify-key or --allowed-signers to verify it", v.Type, v.Key)
}

// compareVersions compares two semantic versions. Texts that are not versions come first.
func compareVersions(a, b string) int {
	va, errA := semver.Parse(a)
	vb, errB := semver.Parse(b)
	switch {
	case errA == nil && errB == nil:
		return va.Compare(vb)
	case errA != nil && errB != nil:
		return strings.Compare(a, b)
	case errA != nil:
		return -1
	}
	return 1
}
