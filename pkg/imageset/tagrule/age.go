package tagrule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxAge is the maximum age in days.
const maxAge = 36_500

// Cutoff returns the time that an age or a date stands for: "30d" and "2w" are so many days and weeks
// before the day of now, "2026-01-31" is that day. Days begin at midnight UTC, so that all runs of a
// day have the same result.
func Cutoff(text string, now time.Time) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	days := map[byte]int{'d': 1, 'w': 7}
	if n := len(text); n > 1 && days[text[n-1]] > 0 {
		age, err := strconv.Atoi(text[:n-1])
		if age *= days[text[n-1]]; err == nil && age > 0 && age <= maxAge && text[0] != '+' {
			return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -age), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither an age nor a date", text)
}

// Days returns the number of days of an age: "3d", "2w", or hours that are whole days, "72h".
func Days(text string) (int, error) {
	for unit, hours := range map[string]int{"h": 1, "d": 24, "w": 7 * 24} {
		number, ok := strings.CutSuffix(text, unit)
		if !ok || number == "" || number[0] == '+' {
			continue
		}
		n, err := strconv.Atoi(number)
		if err == nil && n > 0 && n <= maxAge*24 && n*hours%24 == 0 && n*hours/24 <= maxAge {
			return n * hours / 24, nil
		}
	}
	return 0, fmt.Errorf("%q is not an age in whole days, such as 3d, 2w or 72h", text)
}
