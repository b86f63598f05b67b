package rpn

// ScanNumber parses the number at the start of s as rrdtool does. n is the number of bytes it took;
// 0: there is no number, or its exponent minus its decimals is outside -1021 … 1024.
//
// The result is deliberately not correctly rounded. As in rrdtool, a double is multiplied by ten
// and added to for each digit, then scaled by powers of ten, which are made by squaring; every step
// rounds. Leading blanks and an exponent without digits are valid.
func ScanNumber(s string) (v float64, n int) {
	i := 0
	for i < len(s) && (s[i] == ' ' || '\t' <= s[i] && s[i] <= '\r') {
		i++
	}
	negative := false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		negative = s[i] == '-'
		i++
	}
	start := i
	for i < len(s) && isDigit(s[i]) {
		v = float64(v*10) + float64(s[i]-'0')
		i++
	}
	digits := i - start
	decimals := 0
	if i < len(s) && s[i] == '.' {
		i++
		start = i
		for i < len(s) && isDigit(s[i]) {
			v = float64(v*10) + float64(s[i]-'0')
			i++
		}
		decimals = i - start
	}
	if digits+decimals == 0 {
		return 0, 0
	}
	if negative {
		v = -v
	}
	exponent := -int32(decimals)
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		e, k := scanExponent(s[i+1:])
		exponent += e
		i += 1 + k
	}
	if exponent < -1021 || exponent > 1024 {
		return 0, 0
	}
	return Scale(v, int(exponent)), i
}

// scanExponent parses the sign and the digits after an e. As in rrdtool, the exponent wraps around
// at 32 bits.
func scanExponent(s string) (e int32, n int) {
	down := false
	if n < len(s) && (s[n] == '-' || s[n] == '+') {
		down = s[n] == '-'
		n++
	}
	for n < len(s) && isDigit(s[n]) {
		e = e*10 + int32(s[n]-'0')
		n++
	}
	if down {
		e = -e
	}
	return e, n
}

// Scale multiplies v by 10^exponent as [ScanNumber] does, one bit of the exponent at a time.
func Scale(v float64, exponent int) float64 {
	power := 10.0
	if exponent < 0 {
		for n := -exponent; n > 0; n >>= 1 {
			if n&1 != 0 {
				v /= power
			}
			power *= power
		}
		return v
	}
	for n := exponent; n > 0; n >>= 1 {
		if n&1 != 0 {
			v *= power
		}
		power *= power
	}
	return v
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
