package view

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A hundred images that fail for the same reason are a hundred lines and one reason.
func TestFailures(t *testing.T) {
	t.Parallel()
	report := &mirror.Report{}
	add := func(name string, err error) {
		report.Failed = append(report.Failed, mirror.Failure{Source: name, Reason: err.Error(), Err: err})
	}
	for i := range 100 {
		add(fmt.Sprintf("src.example.com/image:%d", i), &remote.Error{
			Host: "mirror.example.com", Op: fmt.Sprintf("uploading sha256:%d", i), Status: 500, Message: "unknown error", Err: remote.ErrFailing,
		})
	}
	add("src.example.com/other:1", errors.New("damaged"))
	got := strings.Join(Failures(report), "\n") + "\n"
	if n := strings.Count(got, "\n"); n != 101+3 || strings.Count(got, "unknown error") != 1 || !strings.Contains(got, "    and, for the same reason, 99 more images:\n") {
		t.Errorf("%d lines:\n%s", n, got)
	}
	for _, f := range report.Failed {
		if !strings.Contains(got, "not mirrored: "+f.Source+"\n") {
			t.Errorf("%s is not listed", f.Source)
		}
	}
}

func TestWithheldLater(t *testing.T) {
	t.Parallel()
	r := &mirroring.Result{Report: &mirror.Report{}, Withheld: []plan.Publishable{{Catalog: "c"}, {Release: "r"}}}
	for destination, want := range map[string]string{
		"file:///media/disk": "catalogs and releases that name these images will be withheld when file:///media/disk is mirrored",
		"oci:///layout":      "do not publish them from there",
	} {
		r.Destination = destination
		if text := WithheldLater(r); !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", destination, text, want)
		}
	}
	r.Report.Unfinished = true
	if text := WithheldLater(r); text != "" {
		t.Errorf("an unfinished run: %q", text)
	}
}
