package zlib

// lengthOrder is the order in which the lengths of the codes for code lengths are written
// (RFC 1951, section 3.2.7).
var lengthOrder = [lengthSymbols]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// Symbols of the alphabet for code lengths that stand for several codes.
const (
	repeatLength    = 16 // the length before, 3 to 6 times
	repeatZero      = 17 // no code, 3 to 10 times
	repeatZeroOften = 18 // no code, 11 to 138 times
)

// A lengthToken is a symbol of the alphabet for code lengths with its extra bits.
type lengthToken struct {
	symbol, value, extra uint8
}

// appendLengths appends tokens for the lengths of one code. A run of equal lengths is never
// joined with one of the code before.
func appendLengths(tokens []lengthToken, lengths []uint8) []lengthToken {
	for start := 0; start < len(lengths); {
		end := start + 1
		for end < len(lengths) && lengths[end] == lengths[start] {
			end++
		}
		if lengths[start] == 0 {
			tokens = appendZeros(tokens, end-start)
		} else {
			tokens = appendRun(tokens, lengths[start], end-start)
		}
		start = end
	}
	return tokens
}

func appendZeros(tokens []lengthToken, run int) []lengthToken {
	for run > 0 {
		n := min(run, 138)
		run -= n
		switch {
		case n < 3:
			for range n {
				tokens = append(tokens, lengthToken{})
			}
		case n <= 10:
			tokens = append(tokens, lengthToken{symbol: repeatZero, value: uint8(n - 3), extra: 3})
		default:
			tokens = append(tokens, lengthToken{symbol: repeatZeroOften, value: uint8(n - 11), extra: 7})
		}
	}
	return tokens
}

func appendRun(tokens []lengthToken, length uint8, run int) []lengthToken {
	one := lengthToken{symbol: length}
	tokens = append(tokens, one)
	for run--; run > 0; {
		n := min(run, 6)
		run -= n
		if n >= 3 {
			tokens = append(tokens, lengthToken{symbol: repeatLength, value: uint8(n - 3), extra: 2})
			continue
		}
		for range n {
			tokens = append(tokens, one)
		}
	}
	return tokens
}
