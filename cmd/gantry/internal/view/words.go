// Package view renders the results of commands for people: texts and tables. It also declares the
// JSON of commands whose result is no type of another package.
//
// A function here takes a result and returns its text. Nothing is decided and nothing is read here.
// The caller removes characters that a terminal could interpret before it prints a text; names that
// are part of a line of several go through Printable or OneLine.
package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// maxListed is the number of lines of a list in a text. The JSON has all of them.
const maxListed = 20

// List writes lines with an indent. Of more than 20 lines it writes the first, and counts the rest.
func List(b *strings.Builder, lines []string) {
	for _, l := range lines[:min(len(lines), maxListed)] {
		fmt.Fprintf(b, "  %s\n", l)
	}
	if n := len(lines) - maxListed; n > 0 {
		fmt.Fprintf(b, "  ... and %d more (--output json lists all)\n", n)
	}
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
	if section(b, title, lines); len(lines) > 0 {
		b.WriteByte('\n')
	}
}

// each returns a text for each element of a list.
func each[T any](list []T, text func(T) string) (texts []string) {
	for _, x := range list {
		texts = append(texts, text(x))
	}
	return texts
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
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// Short returns a digest, shortened for people.
func Short(d digest.Digest) string {
	if s := d.String(); len(s) > 19 {
		return s[:19]
	}
	return d.String()
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
