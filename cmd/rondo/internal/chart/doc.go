// Package chart draws lines over time with the characters of a terminal.
//
// [Draw] makes a [Grid] of cells of a [Chart]: a title, the lines in braille dots or in ASCII, both
// axes and a legend. [Grid.Print] prints a grid, with colours or without; a program that owns the
// whole screen copies the cells itself.
//
// A [Line] has rows of equal length. A dot column of the chart shows the mean of the rows in its
// time, weighted by how long they overlap it, and the range from the least to the greatest of them.
// Unknown rows leave a gap.
package chart
