package rowblock

// A slot has several sub-blocks, because each checkpoint that has rows of the slot adds one. A
// checkpoint merges the sub-blocks of a slot into one when the slot is complete, or has many.
const (
	mergeFew  = 3       // a complete slot with this many sub-blocks is merged
	MergeMany = 16      // a slot with this many sub-blocks is merged even if it still grows
	mergeTiny = 8       // a complete slot is not merged again for rows this many times smaller
	MaxSub    = 1 << 15 // a merge that reaches this number begins again at 0
)

// MergeDue reports whether a slot with a number of sub-blocks, new rows counted as one, is to be
// merged.
func MergeDue(subs int, complete bool) bool {
	return subs >= MergeMany || complete && subs >= mergeFew
}

// MergeWasteful reports whether a merge of a complete slot can wait: strips, the new rows, are few
// compared to a sub-block of stored bytes, and there are not many sub-blocks.
func MergeWasteful(subs int, strips []Strip, stored int) bool {
	size := 0
	for i := range strips {
		size += len(strips[i].Data) + 8
	}
	return subs < MergeMany && size*mergeTiny < stored
}

// MergeRest reports whether the sub-blocks from number from on are to be merged without those
// before, because one of these is damaged and must stay. Few are not: there is little to gain.
func (e *SubBlocks) MergeRest(from uint16) bool {
	return from == e.Lo || int(e.Hi-from) >= MergeMany
}

// RemoveFrom removes the sub-blocks from number from on. The merged sub-block that takes their
// place gets the number e.Hi, which none of them has, unless sub-blocks before from stay.
func (e *SubBlocks) RemoveFrom(from uint16) {
	switch {
	case from != e.Lo:
		e.Hi = from
	case e.Hi >= MaxSub:
		e.Lo, e.Hi = 0, 0 // these numbers have been free for long
	default:
		e.Lo = e.Hi
	}
}
