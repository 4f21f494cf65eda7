package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// judge says which hops are possible: those without problems of their own, between
// releases that have none.
func (r *platformReport) judge() {
	broken := map[string]bool{}
	for _, x := range r.Releases {
		broken[x.Name] = broken[x.Name] || len(x.Problems) > 0
	}
	for i := range r.Updates {
		u := &r.Updates[i]
		for j := range u.Hops {
			h := &u.Hops[j]
			h.Possible = len(h.Problems) == 0
			for _, version := range []string{h.From, h.To} {
				if broken[release.Name(version, release.Arch(u.Arch))] {
					h.Possible = false
				}
			}
		}
	}
}

// verdict is an error where anything is missing.
func (r *platformReport) verdict() error {
	var texts []string
	hops, not := 0, 0
	for _, u := range r.Updates {
		for _, h := range u.Hops {
			if hops++; !h.Possible {
				not++
			}
		}
	}
	if not > 0 {
		are := "are"
		if not == 1 {
			are = "is"
		}
		texts = append(texts, fmt.Sprintf("%d of %s %s not possible", not, number(hops, "planned hop", "planned hops"), are))
	}
	if n := len(slices.DeleteFunc(slices.Clone(r.Releases), func(x provedRelease) bool { return len(x.Problems) == 0 })); n > 0 {
		texts = append(texts, number(n, "release is", "releases are")+" not whole")
	}
	for _, p := range r.Problems {
		texts = append(texts, p.Problem)
	}
	if len(texts) == 0 {
		return nil
	}
	return &mismatchError{"with this mirror " + strings.Join(texts, ", ")}
}

// showPlatformCheck prints the report.
func (a *app) showPlatformCheck(form string, r *platformReport) error {
	r.judge()
	if form != outputText {
		return a.print(form, r)
	}
	return a.text(r.text())
}

// text is the report as a person reads it: hops first, then what is missing.
func (r *platformReport) text() string {
	var b strings.Builder
	if len(r.Updates) > 0 {
		fmt.Fprintf(&b, "Updates with what is at %s\n", r.Mirror)
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "  CHANNEL\tARCH\tHOP\tPOSSIBLE\tRISKS")
		shown := map[string]bool{} // paths share hops, and plans paths
		row := func(format string, args ...any) {
			if line := fmt.Sprintf(format, args...); !shown[line] {
				shown[line] = true
				fmt.Fprintln(t, line)
			}
		}
		for _, u := range r.Updates {
			if len(u.Hops) == 0 {
				row("  %s\t%s\t%s\tthere already\t-", u.Channel, u.Arch, u.To)
			}
			for _, h := range u.Hops {
				possible, risks := "yes", "-"
				if !h.Possible {
					possible = "NO"
				}
				if len(h.Risks) > 0 {
					risks = oneLine(strings.Join(h.Risks, ", "))
				}
				row("  %s\t%s\t%s -> %s\t%s\t%s", u.Channel, u.Arch, h.From, h.To, possible, risks)
			}
		}
		_ = t.Flush() // into memory
	}
	whole := 0
	var lacking strings.Builder
	told := map[string]bool{}
	for _, u := range r.Updates {
		for _, h := range u.Hops {
			what := fmt.Sprintf("update %s -> %s in %s for %s", h.From, h.To, u.Channel, u.Arch)
			if !told[what] {
				writeProblems(&lacking, what, h.Problems)
			}
			told[what] = told[what] || len(h.Problems) > 0
		}
	}
	for _, x := range r.Releases {
		if len(x.Problems) == 0 {
			whole++
		}
		writeProblems(&lacking, "release "+x.Name, x.Problems)
	}
	writeProblems(&lacking, "graph data", r.Problems)
	fmt.Fprintf(&b, "%d of %s whole.\n", whole, number(len(r.Releases), "release is", "releases are"))
	if lacking.Len() > 0 {
		b.WriteString("Missing\n" + lacking.String())
	}
	if len(r.Notes) > 0 {
		b.WriteString("Notes\n")
		list(&b, r.Notes)
	}
	return b.String()
}

func writeProblems(b *strings.Builder, what string, problems []platformProblem) {
	if len(problems) == 0 {
		return
	}
	fmt.Fprintf(b, "  %s\n", what)
	var lines []string
	for _, p := range problems {
		line := "  " + strings.ReplaceAll(p.Problem, "\n", "\n      ")
		if p.At != "" {
			line += "\n        at " + p.At
		}
		lines = append(lines, line+"\n        "+p.Hint)
	}
	list(b, lines)
}
