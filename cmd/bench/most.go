package main

import (
	"errors"
	"fmt"
)

// compare compares the time of each copy with the floor's. It returns an error if one takes more than most times
// as long, or was not measured. It prints nothing and returns nil if most is 0.
func (b *benchRun) compare(most float64) error {
	if most == 0 {
		return nil
	}
	var problems []error
	for _, m := range b.report.Presets {
		for _, op := range [...]operation{copying, out, in} {
			floor, r := m.of(op, floorName), m.of(op, gantryName)
			switch {
			case r.Problem != "":
				problems = append(problems, fmt.Errorf("%s, %s: %s", m.Preset, op, r.Problem))
			case len(r.Samples) == 0 || floor.wall() == 0:
				problems = append(problems, fmt.Errorf("%s, %s: was not measured", m.Preset, op))
			default:
				multiple := r.wall() / floor.wall()
				b.say("%s, %s: %.2f times the floor's time, at most %.2f", m.Preset, op, multiple, most)
				if multiple > most {
					problems = append(problems, fmt.Errorf("%s, %s takes %.2f times as long as the floor, and may take %.2f times", m.Preset, op, multiple, most))
				}
			}
		}
	}
	return errors.Join(problems...)
}
