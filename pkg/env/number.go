package env

import (
	"fmt"
)

// Number returns "1 image" or "2 images".
func Number[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
