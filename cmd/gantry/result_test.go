package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A hundred images that fail alike are a hundred lines and one reason.
func TestFailedImagesAreReadable(t *testing.T) {
	var stderr strings.Builder
	a := &app{stderr: &stderr}
	rep := &mirror.Report{}
	add := func(name string, err error) {
		rep.Failed = append(rep.Failed, mirror.Failure{Source: name, Reason: err.Error(), Err: err})
	}
	for i := range 100 {
		add(fmt.Sprintf("src.example.com/image:%d", i), &remote.Error{
			Host: "mirror.example.com", Op: fmt.Sprintf("uploading sha256:%d", i), Status: 500, Message: "unknown error", Err: remote.ErrFailing,
		})
	}
	add("src.example.com/other:1", errors.New("damaged"))
	a.sayFailed(rep)
	got := stderr.String()
	if n := strings.Count(got, "\n"); n != 101+3 || strings.Count(got, "unknown error") != 1 || !strings.Contains(got, "    and likewise 99 more images:\n") {
		t.Errorf("%d lines:\n%s", n, got)
	}
	for _, f := range rep.Failed {
		if !strings.Contains(got, "not mirrored: "+f.Source+"\n") {
			t.Errorf("nothing of %s", f.Source)
		}
	}
}

func TestHeldLater(t *testing.T) {
	for destination, want := range map[string]string{
		"file:///media/disk": "will be held back where file:///media/disk is mirrored from",
		"oci:///layout":      "do not publish them from there",
	} {
		if text := heldLater(destination); !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", destination, text, want)
		}
	}
}
