package limits

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Rate is a number of bytes per second. 0 means no limit.
type Rate int64

// smallest is the lowest Rate: with less, responses to single requests would take minutes.
const smallest Rate = 1 << 10

// units are the units of a rate, in bytes.
var units = []struct {
	word  string
	bytes int64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3},
	{"B", 1},
}

// ParseRate parses a number of bytes per second: a decimal number and one of the units B, KB or kB,
// MB, GB (powers of 1000), KiB, MiB and GiB (powers of 1024); spaces between the two and "/s" after
// them are ignored. The lowest is 1KiB. Any other text is an error that says what to write,
// including "50", "50M" and "50Mbit", which tools and people read differently.
func ParseRate(text string) (Rate, error) {
	s := strings.TrimSuffix(strings.TrimSpace(text), "/s")
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.') {
		end++
	}
	number, unit := s[:end], strings.TrimLeft(s[end:], " ")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || len(number) > 20 {
		return 0, fmt.Errorf("%s is not a rate; write a number and a unit, 50MiB", quote(text))
	}
	var bytes int64
	for _, u := range units {
		if u.word == unit {
			bytes = u.bytes
		}
	}
	switch {
	case unit == "":
		return 0, fmt.Errorf("%s has no unit: write 50MiB, 800KB or 2GB, bytes per second", quote(text))
	case strings.Contains(strings.ToLower(unit), "bit"):
		return 0, fmt.Errorf("%s is in bits, and rates are in bytes: 100Mbit are 12.5MB", quote(text))
	case bytes == 0:
		return 0, fmt.Errorf("%s has an unknown unit; write B, KB, MB, GB, KiB, MiB or GiB", quote(text))
	}
	rate := n * float64(bytes)
	switch {
	case rate < float64(smallest):
		return 0, fmt.Errorf("%s is less than 1KiB per second", quote(text))
	case rate > math.MaxInt64/2:
		return 0, fmt.Errorf("%s is too large", quote(text))
	}
	return Rate(rate), nil
}

// String returns the rate as ParseRate reads it, in the largest unit that gives a whole number.
func (r Rate) String() string {
	for _, u := range units {
		if r != 0 && int64(r)%u.bytes == 0 {
			return strconv.FormatInt(int64(r)/u.bytes, 10) + u.word
		}
	}
	return "0B"
}

func quote(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "..."
	}
	return strconv.Quote(s)
}
