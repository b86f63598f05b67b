package graphite

// The instructions of pickles that are known.
const (
	opMark     = '('
	opStop     = '.'
	opNone     = 'N'
	opTrue     = 0x88
	opFalse    = 0x89
	opInt      = 'I' // a line of decimal digits; 00 and 01 are False and True
	opLong     = 'L' // a line of decimal digits and an L
	opBinInt   = 'J'
	opBinInt1  = 'K'
	opBinInt2  = 'M'
	opLong1    = 0x8a
	opLong4    = 0x8b
	opFloat    = 'F' // a line
	opBinFloat = 'G'

	opString          = 'S' // a line, quoted
	opBinString       = 'T'
	opShortBinString  = 'U'
	opUnicode         = 'V' // a line with \uXXXX
	opBinUnicode      = 'X'
	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opBinBytes        = 'B'
	opShortBinBytes   = 'C'
	opBinBytes8       = 0x8e

	opEmptyTuple = ')'
	opTuple      = 't'
	opTuple1     = 0x85
	opTuple2     = 0x86
	opTuple3     = 0x87
	opEmptyList  = ']'
	opList       = 'l'
	opAppend     = 'a'
	opAppends    = 'e'

	opPut        = 'p' // a line
	opBinPut     = 'q'
	opLongBinPut = 'r'
	opMemoize    = 0x94
	opGet        = 'g' // a line
	opBinGet     = 'h'
	opLongBinGet = 'j'
	opPop        = '0'
	opPopMark    = '1'
	opDup        = '2'

	opProto = 0x80
	opFrame = 0x95
)
