package registries

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/registrytest/profiletest"
)

// A registry is a line of the table.
type registry struct {
	name    string
	module  string               // of a real registry
	profile *profiletest.Profile // nil for a real registry
	served  bool                 // an archive by the program: it is read from, and steps that write have to fail
	first   string               // the path that the mirror is below; it does not exist before the step copy
	sample  bool                 // make test runs it
	// ends are the results of steps that differ from those of a registry that follows the specification.
	ends map[string]result
}

// A result is how a step ends.
type result struct {
	code  int
	words string // in the output of the program
	note  string // for the documentation
}

// TestRegistries runs the steps with some registries, or with all if $GANTRY_REGISTRIES names the file for the table.
func TestRegistries(t *testing.T) {
	t.Parallel()
	all := os.Getenv("GANTRY_REGISTRIES") != ""
	program := mirrortest.Program(t)
	var mu sync.Mutex
	results := map[string]string{} // by registry and step
	t.Run("registries", func(t *testing.T) {
		for _, r := range registries() {
			if !all && (!r.sample || mirrortest.Short(t) && r.profile != nil && r.name != "Harbor") {
				continue
			}
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, program, r)
				for _, step := range steps() {
					got := "failed" // unless it returns
					t.Run(step.name, func(t *testing.T) { got = s.take(t, step) })
					mu.Lock()
					results[r.name+"\n"+step.name] = got
					mu.Unlock()
				}
			})
		}
	})
	report(t, results)
}

// start starts the registry.
func (r registry) start(t *testing.T) (*rt.Server, *profiletest.Server) {
	t.Helper()
	switch {
	case r.served:
		return rt.New(t, rt.Options{}), nil // what is read is mirrored to it
	case r.profile == nil:
		return rt.Start(t, rt.Options{Registry: r.name}), nil
	}
	model := profiletest.New(*r.profile)
	return rt.Serve(t, rt.Options{}, model), model
}

// end is how a step ends.
func (r registry) end(s step) result {
	end, other := r.ends[s.name]
	switch {
	case other:
		return end
	case s.secret && r.profile == nil:
		return result{note: "–"}
	}
	return s.ends
}

// report prints the table, and writes it to the file in $GANTRY_REGISTRIES.
func report(t *testing.T, results map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| registry |")
	for _, s := range steps() {
		fmt.Fprintf(&b, " %s |", s.name)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("--|", len(steps())))
	for _, r := range registries() {
		if _, ok := results[r.name+"\n"+steps()[0].name]; !ok {
			continue
		}
		fmt.Fprintf(&b, "| %s |", r.name)
		for _, s := range steps() {
			fmt.Fprintf(&b, " %s |", results[r.name+"\n"+s.name])
		}
		b.WriteString("\n")
	}
	b.WriteString("\nEach number is an exit status.\n")
	t.Log("\n" + b.String())
	if file := os.Getenv("GANTRY_REGISTRIES"); file != "" {
		fail.On(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
}
