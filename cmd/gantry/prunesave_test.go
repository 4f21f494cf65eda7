package main

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestPruneSaveFails checks the exit status if the plan cannot be written: the disk is full, or there is no such folder.
func TestPruneSaveFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	full := w.medium("full", 1)
	fill, _ := w.filler(full)
	fill()
	w.must("mirror", "-c", w.operators("lantern"), w.docker("/site"))
	w.refuse(exitNoSpace, []string{"writing the plan", "free some space"}, "prune", w.docker("/site"), "--save", full+"/prune.json")
	w.refuse(exitUsage, []string{"writing the plan"}, "prune", w.docker("/site"), "--save", w.path("none/prune.json"))
}
