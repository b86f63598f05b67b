import { run } from './check.js';
import './chart_test.js';
import './cores_test.js';
import './data_test.js';
import './definition_test.js';
import './draw_test.js';
import './format_test.js';
import './graph_test.js';
import './promql_test.js';
import './state_test.js';
import './tail_test.js';
import './ticks_test.js';
import './unknown_test.js';
import './waiting_test.js';

run().then((result) => { globalThis.result = result; });
