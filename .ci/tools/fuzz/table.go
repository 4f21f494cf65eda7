package main

import (
	"fmt"
	"strings"
)

// least is how many inputs per second a target should take, on two processors that have nothing else to do. Others are marked.
const least = 1000

func (r *result) isSlow() bool { return max(r.perSecond(), 2*r.perCPU()) < least }

// ends returns how the target ended, for people.
func (r *result) ends() string {
	switch {
	case r.failure != "":
		return "**" + r.failure + "**"
	case r.leftOut:
		return "left out"
	case r.isSlow() && r.slow != "":
		return "slow: " + r.slow
	case r.isSlow():
		return "slow"
	}
	return "ok"
}

// line returns the row of a result.
func (r *result) line() string {
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %s |", r.dir, r.name, r.executions, r.perSecond(), r.perCPU(), r.new, r.ends())
}

// table returns all results as a table.
func table(results []*result, o *options) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| package | target | executions | per second | per second of a processor | new inputs | result |\n|---|---|--:|--:|--:|--:|---|")
	counts, executions := map[string]int{}, 0
	for _, r := range results {
		fmt.Fprintln(&b, r.line())
		executions += r.executions
		how, _, _ := strings.Cut(strings.Trim(r.ends(), "*"), ":")
		counts[how]++
	}
	ran := len(results) - counts["left out"]
	fmt.Fprintf(&b, "\n%d of %d targets ran, %s each with %d processes, %d at a time: %d executions. %d took fewer than %d per second.\n",
		ran, len(results), o.time, o.workers, o.atOnce, executions, counts["slow"], least)
	return b.String()
}
