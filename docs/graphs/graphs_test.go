package graphs

// graphs are the names of the pictures, and the arguments of their commands, one a line.
var graphs = []struct{ name, args string }{
	{"01-stacked", `
-s
end-1d
-e
1711360800
-t
processor of web1
-v
per cent
-l
0
DEF:u=day.rrd:user:AVERAGE
DEF:s=day.rrd:system:AVERAGE
DEF:w=day.rrd:wait:AVERAGE
AREA:s#cc0000:system
GPRINT:s:AVERAGE:average %5.1lf%%
GPRINT:s:MAX:most %5.1lf%%\l
AREA:u#ffaa00:user  :STACK
GPRINT:u:AVERAGE:average %5.1lf%%
GPRINT:u:MAX:most %5.1lf%%\l
AREA:w#3366cc:wait  :STACK
GPRINT:w:AVERAGE:average %5.1lf%%
GPRINT:w:MAX:most %5.1lf%%\l
`},
	{"02-logarithmic", `
-s
end-2d
-e
1711360800
-o
-t
requests, on a logarithmic axis
-h
160
DEF:r=day.rrd:requests:AVERAGE
DEF:m=day.rrd:requests:MAX
LINE1:m#99bbee:most in five minutes
LINE2:r#224488:requests a second
`},
	{"03-second-axis", `
-s
end-1w
-e
1711360800
-t
traffic and temperature
-v
bytes a second
--right-axis
0.00001:-5
--right-axis-label
degrees Celsius
--right-axis-format
%.0lf
DEF:i=year.rrd:in:AVERAGE
DEF:t=year.rrd:temp:AVERAGE
CDEF:high=t,5,+,100000,*
AREA:i#aaddaa:traffic
LINE2:high#cc3300:temperature (right)
`},
	{"04-gradients", `
-s
end-6h
-e
1711360800
-t
gradients
-h
140
DEF:i=day.rrd:in:AVERAGE
DEF:o=day.rrd:out:AVERAGE
AREA:i#0066cc#e0f0ff:in:gradheight=0
LINE1:i#003366
AREA:o#cc6600#fff4e0:out:gradheight=30
LINE1:o#663300
`},
	{"05-holt-winters", `
-s
end-3d
-e
1711360800
-t
what was expected, and what came
-h
150
DEF:v=hw.rrd:in:AVERAGE
DEF:p=hw.rrd:in:HWPREDICT
DEF:d=hw.rrd:in:DEVPREDICT
DEF:f=hw.rrd:in:FAILURES
CDEF:low=p,d,2,*,-
CDEF:band=d,4,*
LINE0:low
AREA:band#ddddff:expected:STACK
LINE1:p#8888cc:prediction
LINE1:v#008800:traffic
TICK:f#ff000050:1.0:  failures
`},
	{"06-week", `
-s
end-1w
-e
1711360800
-t
a week of load
-A
DEF:u=year.rrd:user:AVERAGE
LINE2:u#006699:user
HRULE:30#cc0000:much:dashes
`},
	{"07-year", `
-s
end-1y
-e
1711360800
-t
a year of temperatures
-v
degrees Celsius
-w
500
DEF:t=year.rrd:temp:AVERAGE
DEF:low=year.rrd:temp:MIN
DEF:high=year.rrd:temp:MAX
CDEF:span=high,low,-
LINE0:low
AREA:span#f4d0b0:lowest to highest of a day:STACK
LINE1:t#aa3300:average
HRULE:0#3366cc:frost
`},
	{"08-columns", `
-s
end-1d
-e
1711360800
-t
legends in columns
--tabwidth
70
DEF:u=day.rrd:user:AVERAGE
DEF:s=day.rrd:system:AVERAGE
DEF:i=day.rrd:in:AVERAGE
CDEF:mb=i,1e5,/
COMMENT:  name\tleast\taverage\tmost\l
LINE1:u#0000cc:user
GPRINT:u:MIN:\t%6.2lf\g
GPRINT:u:AVERAGE:\t%6.2lf\g
GPRINT:u:MAX:\t%6.2lf\l
LINE1:s#cc0000:system
GPRINT:s:MIN:%6.2lf
GPRINT:s:AVERAGE:%6.2lf
GPRINT:s:MAX:%6.2lf\r
LINE1:mb#00aa00:in
GPRINT:i:MIN:%6.2lf %sB/s
GPRINT:i:AVERAGE:%6.2lf %sB/s
GPRINT:i:MAX:%6.2lf %sB/s\j
`},
	{"09-dark", `
-s
end-1d
-e
1711360800
-t
dark colours
-c
BACK#16181d
-c
CANVAS#1e2128
-c
FONT#d8dee9
-c
GRID#ffffff18
-c
MGRID#ffffff40
-c
AXIS#8892a0
-c
ARROW#8892a0
-c
FRAME#1e2128
-c
SHADEA#16181d
-c
SHADEB#16181d
DEF:i=day.rrd:in:AVERAGE
DEF:o=day.rrd:out:AVERAGE
AREA:i#88c0d050
LINE1:i#88c0d0:in
LINE1:o#ebcb8b:out
GPRINT:i:LAST:now %.1lf %sB/s
GPRINT:o:LAST:%.1lf %sB/s\l
`},
	{"10-zoom", `
-s
end-12h
-e
1711360800
-m
2
-w
200
-h
70
-t
zoomed by two
DEF:u=day.rrd:user:AVERAGE
AREA:u#cce0cc
LINE1:u#226622:user
`},
	{"11-mirrored", `
-s
end-1d
-e
1711360800
-t
traffic of eth0
-v
bytes a second
-h
140
DEF:i=day.rrd:in:AVERAGE
DEF:o=day.rrd:out:AVERAGE
CDEF:down=o,-1,*
VDEF:p=i,95,PERCENT
AREA:i#00aa44:in
GPRINT:i:AVERAGE:%.1lf %sB/s
AREA:down#3366cc:out
GPRINT:o:AVERAGE:%.1lf %sB/s\l
HRULE:0#000000
LINE1:p#cc0000:95 per cent:dashes=4,3
GPRINT:p:%.1lf %sB/s\l
`},
	{"12-marks", `
-s
end-1d
-e
1711360800
-t
marks, slopes and a watermark
-W
made from a fixed set of data
-E
--right-axis
1:0
DEF:s=day.rrd:system:AVERAGE
VDEF:most=s,MAXIMUM
VDEF:average=s,AVERAGE
CDEF:high=s,15,GT,s,UNKN,IF
LINE2:s#445566:system
AREA:high#ff000060:above 15
TICK:high#cc000040:0.05
LINE1:average#00aa00:average:dashes
VRULE:most#cc00cc:the most, at
GPRINT:most:%H\:%M:strftime
`},
}
