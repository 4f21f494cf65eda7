package progress

import (
	"fmt"
	"time"
)

// Bytes returns a size for people: "512 B", "1.5 MiB".
func Bytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 && n > -1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for (f >= 1023.95 || f <= -1023.95) && i < len(units)-1 {
		f /= 1024
		i++
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}

// of returns "3.1 of 40.0 GiB", with both units if they differ.
func of(done, total int64) string {
	a, b := Bytes(done), Bytes(total)
	n, unit := len(a), len(b)
	for unit > 0 && b[unit-1] != ' ' {
		unit--
	}
	if unit = len(b) - unit + 1; n > unit && a[n-unit:] == b[len(b)-unit:] {
		a = a[:n-unit]
	}
	return a + " of " + b
}

// Duration returns a time for people, in at most two units: "42s", "5m10s", "3h04m".
func Duration(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
}
