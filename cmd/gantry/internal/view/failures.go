package view

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/advice/escape"
	"github.com/gantry-mirror/gantry/pkg/mirror"
)

// A failureLine is a line of the file of --failures.
type failureLine struct {
	Kind       string   `json:"kind"` // "image", "catalog", "release" or "package"
	Source     string   `json:"source,omitempty"`
	Repository string   `json:"repository,omitempty"`
	Catalog    string   `json:"catalog,omitempty"`
	Release    string   `json:"release,omitempty"`
	Package    string   `json:"package,omitempty"`
	Missing    []string `json:"missing,omitempty"`
	Reason     string   `json:"reason,omitempty"`
}

// FailureLines returns a function that writes what is not at the destination, one JSON object per
// line: images that failed, the catalogs and releases that were withheld, and the packages that were
// excluded. Of a run that copied nothing, it writes the images that are missing at their sources.
func FailureLines(r *mirroring.Result) func(io.Writer) error {
	report := r.Report
	if report == nil {
		report = &mirror.Report{}
		for _, m := range r.Plan.Missing {
			report.Failed = append(report.Failed, mirror.Failure{Source: m.Source, Reason: m.Message})
		}
	}
	return func(w io.Writer) error {
		var lines []failureLine
		for _, f := range report.Failed {
			lines = append(lines, failureLine{Kind: "image", Source: f.Source, Repository: f.Repository, Reason: f.Reason})
		}
		for _, h := range report.Withheld {
			kind := "catalog"
			if h.Release != "" {
				kind = "release"
			}
			lines = append(lines, failureLine{Kind: kind, Catalog: h.Catalog, Release: h.Release, Missing: h.Missing, Reason: h.Reason})
		}
		for _, x := range report.Excluded {
			lines = append(lines, failureLine{Kind: "package", Catalog: x.Catalog, Package: x.Package, Missing: x.Missing})
		}
		enc := json.NewEncoder(escape.Writer(w))
		enc.SetEscapeHTML(false)
		for _, line := range lines {
			if err := enc.Encode(line); err != nil {
				return fmt.Errorf("writing what failed: %w", err)
			}
		}
		return nil
	}
}
