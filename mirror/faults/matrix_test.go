package faults

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// failed is the result of a cell in which an invariant does not hold.
const failed = "FAILED"

// A cell is a fault in a workflow.
type cell struct {
	*site
	t        *testing.T
	name     string
	workflow workflow
	fault    fault
	at       *rt.Server // that misbehaves; may be nil
	happened bool
	watch    func(*exec.Cmd) (wait func()) // starts the program in another way; may be nil
}

// TestMatrix runs a cell of each fault and of each workflow, or all if $GANTRY_FAULTS names the file for the matrix. With
// -short, each third fault is enough.
func TestMatrix(t *testing.T) {
	t.Parallel()
	every := 1
	if mirrortest.Short(t) {
		every = 3
	}
	program := mirrortest.Program(t)
	var mu sync.Mutex
	results := map[string]string{} // by fault and workflow
	columns := elements.Map((&site{}).workflows(), func(w workflow) string { return w.name })
	t.Run("workflows", func(t *testing.T) {
		for column, name := range columns {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, program, rt.Options{Auth: rt.TokenAuth, TokenLifetime: time.Hour}, name == "serve")
				w := s.workflows()[column]
				reference := &cell{site: s, t: t, name: "reference", workflow: w}
				reference.undisturbed()
				for row, f := range faults() {
					result := w.fits(f)
					if result == "" && os.Getenv("GANTRY_FAULTS") == "" && (row%every > 0 || !sample(row, column)) {
						continue
					}
					if result == "" {
						result = failed // unless check returns
						t.Run(f.name, func(t *testing.T) {
							c := &cell{site: s, t: t, name: fmt.Sprint("f", row), workflow: w, fault: f}
							result = c.check(reference)
						})
					}
					mu.Lock()
					results[f.name+"\n"+name] = result
					mu.Unlock()
				}
			})
		}
	})
	report(t, columns, results)
}

// sample reports whether a cell is among those that make test runs: a diagonal, so that each line and column is in it.
func sample(row, column int) bool {
	all := (&site{}).workflows()
	for i := range all {
		if n := (row + i) % len(all); all[n].fits(faults()[row]) == "" {
			return n == column
		}
	}
	return false
}

// undisturbed runs the workflow without a fault.
func (c *cell) undisturbed() {
	c.t.Helper()
	for _, command := range append(append([]string{}, c.workflow.before...), c.workflow.commands...) {
		if o := c.run(command, 0); o.code != 0 {
			c.t.Fatalf("%s ended with %d:\n%s", command, o.code, o.output)
		}
	}
}

// check runs the workflow with the fault and without it, and compares the result with what the reference made.
func (c *cell) check(reference *cell) string {
	c.t.Helper()
	for _, command := range c.workflow.before {
		if o := c.run(command, 0); o.code != 0 {
			c.t.Fatalf("%s ended with %d:\n%s", command, o.code, o.output)
		}
	}
	began := c.state()
	c.forget()
	c.arm()
	o := c.through()
	c.disarm()
	if !c.happened {
		c.t.Error("the fault did not happen")
	}
	ends, other := c.workflow.ends[c.fault.name]
	if !other {
		ends = c.fault.ends
	}
	if ends == fine && o.code != 0 || ends == fails && o.code == 0 {
		c.t.Errorf("ended with %d:\n%s", o.code, o.output)
	}
	copied := c.afterFault(o, began, reference)
	c.forget()
	second := outcome{}
	for _, command := range c.workflow.commands {
		if second = c.run(command, 0); second.code != 0 {
			c.t.Errorf("without the fault, %s ended with %d:\n%s", command, second.code, second.output)
		}
	}
	c.afterAnother(second, copied, reference)
	if c.t.Failed() {
		return failed
	}
	return fmt.Sprint(o.code)
}

// arm makes the fault happen from now on.
func (c *cell) arm() {
	c.t.Helper()
	aim := c.workflow.target(c.fault)
	if aim == nil {
		return
	}
	c.at = c.source
	if aim.mirror {
		c.at = c.mirror
	}
	p := *aim
	p.path = c.replace(p.path)
	c.at.Script(p.rules(c.fault, c.fault.action(c))...)
}

func (c *cell) disarm() {
	if c.at == nil {
		return
	}
	for _, r := range c.at.Log() {
		c.happened = c.happened || r.Faulted
	}
	c.at.Script()
	if c.fault.killed { // what the process sent is not served after that
		c.mirror.Shut()
		c.mirror.Open()
	}
}

// through runs the commands with the fault, until one fails.
func (c *cell) through() (o outcome) {
	c.t.Helper()
	for i, command := range c.workflow.commands {
		var undo func()
		if c.fault.damage != nil && i == len(c.workflow.commands)-1 {
			undo = c.damage()
		}
		next := c.run(command, c.fault.limit)
		o = outcome{next.code, o.output + next.output}
		if undo != nil {
			undo()
		}
		if o.code != 0 {
			c.happened = c.happened || c.fault.limit > 0
			break
		}
	}
	return o
}

// damage changes the newest volume of the disk, and returns what restores it.
func (c *cell) damage() (undo func()) {
	c.t.Helper()
	all := volumes(c.t, c.disk())
	volume := all[len(all)-1]
	text, err := os.ReadFile(volume)
	fail.On(c.t, err)
	c.fault.damage(c.t, volume)
	c.happened = true
	return func() { fail.On(c.t, os.WriteFile(volume, text, 0o644)) }
}

func (c *cell) forget() {
	c.source.ResetLog()
	c.mirror.ResetLog()
}

// report prints the matrix, and writes it to the file in $GANTRY_FAULTS.
func report(t *testing.T, columns []string, results map[string]string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "| fault | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("--|", len(columns)))
	cells := 0
	for _, f := range faults() {
		fmt.Fprintf(&b, "| %s |", f.name)
		for _, name := range columns {
			result, ok := results[f.name+"\n"+name]
			switch {
			case !ok:
			case strings.Contains(result, " "):
				result = "–"
			default:
				cells++
			}
			fmt.Fprintf(&b, " %s |", result)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n%d cells ran: each number is the exit status with the fault.\n", cells)
	t.Log("\n" + b.String())
	if file := os.Getenv("GANTRY_FAULTS"); file != "" {
		fail.On(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
}
