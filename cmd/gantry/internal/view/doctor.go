package view

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/registry"
	"github.com/gantry-mirror/gantry/pkg/registry/doctor"
)

// Doctor returns the result of gantry registry doctor as text.
func Doctor(r *registry.DoctorResult) string {
	var b strings.Builder
	area := ""
	count := map[doctor.State]int{}
	for _, f := range r.Findings {
		if f.Area != area {
			area = f.Area
			fmt.Fprintf(&b, "%s\n", area)
		}
		count[f.State]++
		fmt.Fprintf(&b, "  %-8s %s: %s\n", f.State, OneLine(f.Name), OneLine(f.Text))
		writeIf(&b, f.Remedy != "" && f.State != doctor.OK, "           %s\n", OneLine(f.Remedy))
	}
	fmt.Fprintf(&b, "%s, %s with %s.\n", Number(count[doctor.Problem], "problem", "problems"), Number(count[doctor.Warning], "warning", "warnings"), r.Mirror)
	return b.String()
}
