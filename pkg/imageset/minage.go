package imageset

import "github.com/gantry-mirror/gantry/pkg/imageset/tagrule"

// wholeDays is the grammar of an age without a date.
func wholeDays() grammar {
	return grammar{max: 10, pattern: `^[0-9]+[hdw]$`, check: func(s string) (string, string) {
		if _, err := tagrule.Days(s); err != nil {
			return quote(s) + " is not an age in whole days", `write days ("3d"), weeks ("2w") or hours ("72h")`
		}
		return "", ""
	}}
}
