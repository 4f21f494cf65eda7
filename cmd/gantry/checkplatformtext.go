package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/gantry-mirror/gantry/pkg/release/proof"
)

// platformVerdict is an error where anything is missing.
func platformVerdict(r *proof.Report) error {
	var texts []string
	hops, impossible, broken := r.Count()
	if impossible > 0 {
		are := "are"
		if impossible == 1 {
			are = "is"
		}
		texts = append(texts, fmt.Sprintf("%d of %s %s not possible", impossible, number(hops, "planned hop", "planned hops"), are))
	}
	if broken > 0 {
		texts = append(texts, number(broken, "release is", "releases are")+" not whole")
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
func (a *app) showPlatformCheck(form string, r *proof.Report) error {
	if form != outputText {
		return a.print(form, r)
	}
	return a.text(platformText(r))
}

// platformText is the report as a person reads it: hops first, then what is missing.
func platformText(r *proof.Report) string {
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
		writeProblems(&lacking, "release "+x.Name, x.Problems)
	}
	writeProblems(&lacking, "graph data", r.Problems)
	_, _, broken := r.Count()
	fmt.Fprintf(&b, "%d of %s whole.\n", len(r.Releases)-broken, number(len(r.Releases), "release is", "releases are"))
	if lacking.Len() > 0 {
		b.WriteString("Missing\n" + lacking.String())
	}
	if len(r.Notes) > 0 {
		b.WriteString("Notes\n")
		list(&b, r.Notes)
	}
	return b.String()
}

func writeProblems(b *strings.Builder, what string, problems []proof.Problem) {
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
